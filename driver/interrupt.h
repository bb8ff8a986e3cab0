// SIGINT, SIGTERM and SIGHUP as an exception at the next wait, so that workers are ended and the journal is
// kept.
#pragma once

#include <exception>
#include <string>

namespace ampgate::driver {

class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

// From here on these signals no longer end the process; a second one does, unless it is a SIGHUP, which both
// the kernel and the shell send when a terminal closes. An ignored SIGHUP stays so (nohup).
void watch_signals();

// What a second signal says on standard error before it ends the process; empty: nothing.
void set_last_words(const std::string& text);

// Readable once a signal came: for poll().
int interrupt_descriptor();

// Throws Interrupted when a signal came.
void check_interrupt();

}  // namespace ampgate::driver
