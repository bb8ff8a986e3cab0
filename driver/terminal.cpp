#include "driver/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ampgate::driver {
namespace {

bool draws_on(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

// Not fmt::print, which throws when the terminal is gone: no reason to end a run.
void put(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string duration_words(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 90) return fmt::format("{} s", whole);
  if (whole < 5400) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return draws_on(descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

Progress::Progress(bool silent) : silent_(silent), draws_(!silent && draws_on(STDERR_FILENO)) {}

Progress::~Progress() { clear(); }

void Progress::begin(const std::string& phase, std::size_t total, double least_s, double later_s) {
  phase_ = phase;
  current_.clear();
  total_ = total;
  done_ = 0;
  least_s_ = least_s;
  later_s_ = later_s;
  began_ = Clock::now();
  drawn_ = {};
  if (!silent_ && !draws_)
    say(fmt::format("{}: {} to do, at least {}", phase, total, duration_words(least_s)));
  draw();
}

void Progress::working_on(const std::string& what) {
  current_ = what;
  draw();
}

void Progress::advance(const std::string& result, bool surprise) {
  ++done_;
  total_ = std::max(total_, done_);  // a precise measurement takes as many processes as it needs
  if (!silent_ && (surprise || !draws_)) say(fmt::format("{} {}/{} {}", phase_, done_, total_, result));
  draw();
}

void Progress::say(const std::string& line) {
  if (silent_) return;
  clear();
  put(line + "\n");
}

void Progress::warn(const std::string& what) {
  clear();
  put("ampgate: warning: " + what + "\n");
}

std::string Progress::time_left() const {
  constexpr double kEnough = 0.1;  // of the steps, to tell from them how long the others take
  const double spent = std::chrono::duration<double>(Clock::now() - began_).count();
  const double share = total_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total_);
  if (share > kEnough) return duration_words(spent / share * (1 - share) + later_s_) + " left";
  return "at least " + duration_words(std::max(least_s_ - spent, 0.0) + later_s_) + " left";
}

void Progress::draw() {
  if (!draws_ || Clock::now() - drawn_ < std::chrono::milliseconds(50)) return;
  drawn_ = Clock::now();
  std::string line = fmt::format("{} {}/{}, {}  {}", phase_, done_, total_, time_left(), current_);
  line.resize(std::min(line.size(), columns() - 1));
  put("\r\033[K" + line);
}

void Progress::clear() {
  if (!draws_) return;
  put("\r\033[K");
}

}  // namespace ampgate::driver
