// SIGINT and SIGTERM as an exception at the next wait, so that workers are ended and the journal is kept.
#pragma once

#include <exception>

namespace ampgate::driver {

class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

// From here on the two signals no longer end the process; a second one does.
void watch_signals();

// Readable once a signal came: for poll().
int interrupt_descriptor();

// Throws Interrupted when a signal came.
void check_interrupt();

}  // namespace ampgate::driver
