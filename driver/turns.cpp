#include "driver/turns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "driver/interrupt.h"
#include "driver/machine.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr std::chrono::milliseconds kBetweenLooks{25};
constexpr std::chrono::minutes kLongestWaitForOthers{10};

struct flock byte_lock(short type, int byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// Byte 0 guards the file, the next ones are the runs'.
int byte_of(int run) { return run + 1; }

// In alternate rounds the order is turned round, so that a steady drift of the machine favours nobody.
int run_at(int turn, int runs) {
  const int place = turn % runs;
  return (turn / runs) % 2 == 0 ? place : runs - 1 - place;
}

}  // namespace

struct Turns::Locked {
  explicit Locked(int file) : descriptor(file) {
    auto lock = byte_lock(F_WRLCK, 0);
    while (fcntl(descriptor, F_OFD_SETLKW, &lock) != 0) {
      if (errno != EINTR)
        throw results::EnvironmentError(
            std::string("the file of --in-turns cannot be locked: ") + std::strerror(errno),
            "use a file on a local disk");
      check_interrupt();
    }
  }
  ~Locked() {
    auto lock = byte_lock(F_UNLCK, 0);
    fcntl(descriptor, F_OFD_SETLK, &lock);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  int descriptor;
};

Turns::Turns(const std::filesystem::path& file, int runs) : file_(file), runs_(runs) {
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw results::EnvironmentError(
        fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)),
        "give --in-turns a file that all of the runs may write");
  }
  try {
    const Locked locked(descriptor_);
    Json state = read();
    bool any_lives = false;
    for (int run = 0; run < state.value("joined", 0); ++run) any_lives = any_lives || lives(run);
    if (!any_lives)
      state = {{"series", random_id() + random_id()}, {"runs", runs}, {"joined", 0}, {"next", 0}};
    if (state.at("runs") != runs) {
      throw results::UsageError(fmt::format("{}: {} runs take turns there, this one was told of {}",
                                            file.string(), state.at("runs").get<int>(), runs),
                                "give all of them the same --runs-in-turns");
    }
    own_ = state.at("joined").get<int>();
    if (own_ == runs) {
      throw results::UsageError(fmt::format("{}: all of its {} runs are there already", file.string(), runs),
                                "give --in-turns another file, or wait until they have ended");
    }
    series_ = state.at("series").get<std::string>();
    auto life = byte_lock(F_WRLCK, byte_of(own_));
    if (fcntl(descriptor_, F_OFD_SETLK, &life) != 0) {
      throw results::EnvironmentError(
          fmt::format("{}: cannot be locked: {}", file.string(), std::strerror(errno)),
          "use a file on a local disk");
    }
    state["joined"] = own_ + 1;
    write(state);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Turns::~Turns() { close(descriptor_); }

bool Turns::lives(int run) const {
  if (!series_.empty() && run == own_) return true;
  auto lock = byte_lock(F_WRLCK, byte_of(run));
  return fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Json Turns::read() const {
  std::array<char, 512> text{};
  const auto size = pread(descriptor_, text.data(), text.size(), 0);
  if (size == 0) return Json::object();
  Json state = size < 0 ? Json() : Json::parse(text.data(), text.data() + size, nullptr, false);
  for (const auto* key : {"runs", "joined", "next"}) {
    if (!state.is_object() || !state.contains(key) || !state[key].is_number_integer()) state = Json();
  }
  if (!state.is_object() || !state.contains("series") || !state["series"].is_string()) {
    throw results::FileError(file_.string(), "no file of runs that take turns",
                             "give --in-turns a file that is not there yet");
  }
  return state;
}

void Turns::write(const Json& state) const {
  const std::string text = state.dump() + "\n";
  if (ftruncate(descriptor_, 0) != 0 ||
      pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    throw results::EnvironmentError(
        fmt::format("{}: cannot be written: {}", file_.string(), std::strerror(errno)),
        "make room, or give --in-turns another file");
  }
}

int Turns::wait() {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    check_interrupt();
    {
      const Locked locked(descriptor_);
      Json state = read();
      if (state.value("series", "") != series_) {
        throw results::EnvironmentError(file_.string() + ": other runs have taken it over",
                                        "give each set of runs a file of its own");
      }
      const int joined = state.at("joined").get<int>();
      if (joined == runs_) {
        int next = state.at("next").get<int>();
        while (!lives(run_at(next, runs_))) ++next;
        state["next"] = next;
        write(state);
        if (run_at(next, runs_) == own_) return next / runs_;
      } else if (std::chrono::steady_clock::now() - begin > kLongestWaitForOthers) {
        throw results::EnvironmentError(
            fmt::format("{}: {} of {} runs came within {} minutes", file_.string(), joined, runs_,
                        kLongestWaitForOthers.count()),
            "start all of them at the same time");
      }
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void Turns::pass_on() {
  const Locked locked(descriptor_);
  Json state = read();
  state["next"] = state.at("next").get<int>() + 1;
  write(state);
}

void Turns::take(const std::function<void(const Json&)>& work) {
  const int number = wait();
  work({{"series", series_}, {"number", number}});
  pass_on();
}

}  // namespace ampgate::driver
