// A child process: text on its standard input, lines back on one descriptor, all else in a log. It dies with
// its owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ampgate::driver {

using Clock = std::chrono::steady_clock;

struct Exit {
  int code = 0;
  int signal = 0;  // 0: ended by itself
  bool clean() const { return code == 0 && signal == 0; }
  // "killed by SIGSEGV", "exit code 3"
  std::string words() const;
};

class Process {
 public:
  struct Spec {
    std::filesystem::path program;
    std::vector<std::string> arguments;    // without the program's name
    std::vector<std::string> environment;  // "NAME=value", whole
    std::string input;
    int lines_from = 3;         // the child's descriptor that is read here
    std::filesystem::path log;  // appended; empty: kept in memory while this lives
    // Memory of its own that it may ask for; more is refused, so that no other process is killed for it.
    std::optional<std::uint64_t> memory_bytes{};
  };

  // Throws results::EnvironmentError when it cannot be started.
  explicit Process(Spec spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  enum class Got { kLine, kEnd, kTimeout };

  // The next line, without its newline; kEnd once the child closed its end (an unfinished last line is
  // dropped). Throws Interrupted, and results::EnvironmentError for a line above 64 MiB.
  Got next_line(std::string& line, Clock::time_point deadline);

  // Waits for the end, and kills after `limit`. Throws results::EnvironmentError for a process that even
  // SIGKILL does not end (stuck in the kernel).
  Exit wait(std::chrono::milliseconds limit);
  Exit kill();

  // The last error in the log that is this child's: the last line that begins with the program's name, as
  // ours do, without that name; else the last line. Shortened, and safe on a terminal; empty where it wrote
  // nothing.
  std::string last_error() const;

 private:
  void write_input();
  bool read_more();  // false: end of file
  bool has_ended() const;
  bool reap(std::chrono::milliseconds limit);

  std::string name_;
  pid_t pid_ = -1;
  int log_ = -1;
  off_t log_begin_ = 0;  // what lies before is older
  int input_ = -1;
  int lines_ = -1;
  std::string pending_input_;
  std::size_t written_ = 0;
  std::string buffer_;
  std::size_t searched_ = 0;  // how much of the buffer holds no newline
  bool reaped_ = false;
  Exit exit_;
};

}  // namespace ampgate::driver
