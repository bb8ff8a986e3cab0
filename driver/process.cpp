#include "driver/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "driver/interrupt.h"
#include "driver/names.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::EnvironmentError;
using std::chrono::milliseconds;

constexpr milliseconds kLookAfterChild{1000};
constexpr std::size_t kLongestLine = std::size_t{64} << 20;

std::string error_text() { return strerror(errno); }

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw EnvironmentError("cannot make a pipe: " + error_text(), "close other programs");
    }
    read = ends[0];
    write = ends[1];
  }
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

struct Ends {
  int input, lines, log, failure;  // the child's
  int lines_as;
  pid_t parent;
  rlimit memory;
};

// This process's own limit, lowered.
rlimit data_limit(const std::optional<std::uint64_t>& bytes) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_DATA, &limit);
  if (bytes) limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, *bytes);
  return limit;
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         const Ends& ends) {
  // Descriptors above all fixed ones first, so that no dup2 below closes another's source.
  const int input = fcntl(ends.input, F_DUPFD_CLOEXEC, 10);
  const int lines = fcntl(ends.lines, F_DUPFD_CLOEXEC, 10);
  const int log = fcntl(ends.log, F_DUPFD_CLOEXEC, 10);
  const int failure = fcntl(ends.failure, F_DUPFD_CLOEXEC, 10);
  setpgid(0, 0);  // Ctrl-C goes to the driver alone, and kill() reaches what the worker started
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_DATA, &ends.memory);
  const bool ready = getppid() == ends.parent && dup2(input, 0) >= 0 && dup2(log, 1) >= 0 &&
                     dup2(log, 2) >= 0 && dup2(lines, ends.lines_as) >= 0;
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  if (ready) execve(program, arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
  _exit(127);
}

int open_log(const std::filesystem::path& path) {
  const int log = path.empty() ? memfd_create("log", MFD_CLOEXEC)
                               : open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log >= 0) return log;
  throw EnvironmentError(
      "cannot write " + (path.empty() ? "a log in memory" : path.string()) + ": " + error_text(),
      "choose another --archive");
}

off_t size_of(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? status.st_size : 0;
}

// Libraries print colours and binary data, too.
std::string quotable(std::string text) {
  constexpr std::size_t kLongest = 300;
  if (text.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // no character of UTF-8 is cut in two
    text = text.substr(0, end) + "...";
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string Exit::words() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  const char* name = sigabbrev_np(signal);
  return "killed by " + (name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal));
}

Process::Process(Spec spec)
    : name_(spec.program.filename()),
      log_(open_log(spec.log)),
      log_begin_(size_of(log_)),
      pending_input_(std::move(spec.input)) {
  Pipe in, lines, failure;
  std::vector<std::string> words{spec.program.string()};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  const auto arguments = pointers(words);
  const auto environment = pointers(spec.environment);
  const Ends ends{
      in.read, lines.write, log_, failure.write, spec.lines_from, getpid(), data_limit(spec.memory_bytes)};
  pid_ = fork();
  if (pid_ == 0) become(words.front().c_str(), arguments.data(), environment.data(), ends);
  const int fork_error = errno;
  for (const int descriptor : {in.read, lines.write, failure.write}) close(descriptor);
  input_ = in.write;
  lines_ = lines.read;
  fcntl(input_, F_SETFL, O_NONBLOCK);
  fcntl(lines_, F_SETFL, O_NONBLOCK);
  int error = fork_error;
  const bool failed = pid_ < 0 || read(failure.read, &error, sizeof error) == sizeof error;
  close(failure.read);
  if (failed) {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    for (const int descriptor : {input_, lines_, log_}) close(descriptor);
    throw EnvironmentError("cannot start " + spec.program.string() + ": " + strerror(error),
                           "build the workers again");
  }
}

Process::~Process() {
  if (!reaped_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    reap(milliseconds(5000));
  }
  if (input_ >= 0) close(input_);
  close(lines_);
  close(log_);
}

void Process::write_input() {
  while (input_ >= 0) {
    const auto left = pending_input_.size() - written_;
    const ssize_t count = left == 0 ? 0 : write(input_, pending_input_.data() + written_, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count > 0) {
      written_ += static_cast<std::size_t>(count);
      continue;
    }
    close(input_);  // all written, or nobody reads it: how the child ends tells
    input_ = -1;
    pending_input_.clear();
  }
}

bool Process::read_more() {
  std::array<char, 65536> bytes;
  const ssize_t count = read(lines_, bytes.data(), bytes.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

Process::Got Process::next_line(std::string& line, Clock::time_point deadline) {
  for (;;) {
    if (const auto end = buffer_.find('\n', searched_); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      searched_ = 0;
      return Got::kLine;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > kLongestLine) {
      throw EnvironmentError("a worker wrote an event of more than 64 MiB",
                             "this is an error of ours: report it");
    }
    check_interrupt();
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Got::kTimeout;
    std::array<pollfd, 3> waits{
        {{lines_, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}, {input_, POLLOUT, 0}}};
    const auto pause = std::min<long long>(left, kLookAfterChild.count());
    const int ready = poll(waits.data(), waits.size(), static_cast<int>(pause));
    if (ready < 0) continue;
    check_interrupt();
    // What the child started may hold the pipe open when the child itself is gone.
    if (ready == 0 && has_ended()) return Got::kEnd;
    if (waits[2].revents != 0) write_input();
    if (waits[0].revents != 0 && !read_more()) return Got::kEnd;
  }
}

bool Process::has_ended() const {
  siginfo_t info{};
  return reaped_ || (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     info.si_pid == pid_);
}

bool Process::reap(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (milliseconds pause(1); !reaped_; pause = std::min(pause * 2, milliseconds(50))) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      reaped_ = true;
      ::kill(-pid_, SIGKILL);  // what it started and left behind
      if (WIFSIGNALED(status)) exit_.signal = WTERMSIG(status);
      if (WIFEXITED(status)) exit_.code = WEXITSTATUS(status);
    } else if (Clock::now() >= deadline) {
      return false;
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
  return true;
}

Exit Process::wait(milliseconds limit) { return reap(limit) ? exit_ : kill(); }

Exit Process::kill() {
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  if (!reap(milliseconds(10000))) {
    throw EnvironmentError(
        "worker process " + std::to_string(pid_) + " does not end on SIGKILL: stuck in the kernel",
        "its device is not to be used before a restart");
  }
  return exit_;
}

std::string Process::last_error() const {
  constexpr off_t kTail = 65536;
  const off_t end = size_of(log_);
  const off_t begin = std::max(log_begin_, end - kTail);
  std::string text(static_cast<std::size_t>(std::max<off_t>(end - begin, 0)), '\0');
  const ssize_t count = pread(log_, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  std::string last, ours;
  for (const auto& line : split(text, '\n')) {
    if (line.starts_with(name_ + ": ")) ours = line.substr(name_.size() + 2);
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return quotable(ours.empty() ? last : ours);
}

}  // namespace ampgate::driver
