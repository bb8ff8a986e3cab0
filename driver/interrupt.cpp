#include "driver/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace ampgate::driver {
namespace {

volatile sig_atomic_t received = 0;
int pipe_ends[2] = {-1, -1};
std::array<char, 8192> last_words;  // prepared: a handler may not allocate
std::atomic<std::size_t> last_words_size{0};
static_assert(std::atomic<std::size_t>::is_always_lock_free);

void on_signal(int signal) {
  const int saved = errno;
  if (received != 0) {
    if (signal == SIGHUP) return;
    [[maybe_unused]] const auto said = write(STDERR_FILENO, last_words.data(), last_words_size);
    _exit(128 + signal);
  }
  received = signal;
  const char byte = 0;
  [[maybe_unused]] const auto written = write(pipe_ends[1], &byte, 1);
  errno = saved;
}

}  // namespace

void watch_signals() {
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void set_last_words(const std::string& text) {
  last_words_size = 0;  // first: a signal may come in between
  const std::size_t size = std::min(text.size(), last_words.size());
  std::memcpy(last_words.data(), text.data(), size);
  last_words_size = size;
}

int interrupt_descriptor() { return pipe_ends[0]; }

void check_interrupt() {
  if (received != 0) throw Interrupted(received);
}

}  // namespace ampgate::driver
