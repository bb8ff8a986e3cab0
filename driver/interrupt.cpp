#include "driver/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace ampgate::driver {
namespace {

volatile sig_atomic_t received = 0;
int pipe_ends[2] = {-1, -1};

void on_signal(int signal) {
  const int saved = errno;
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
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int interrupt_descriptor() { return pipe_ends[0]; }

void check_interrupt() {
  if (received != 0) throw Interrupted(received);
}

}  // namespace ampgate::driver
