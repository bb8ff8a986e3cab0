// What the user sees while a run goes on, on standard error: one line that is drawn anew on a terminal, plain
// lines else.
#pragma once

#include <chrono>
#include <string>

namespace ampgate::driver {

// Seconds that each phase takes at least, for the time left.
struct Estimate {
  double validate_s = 0, repeat_s = 0, bench_s = 0, inspect_s = 0, ceilings_s = 0, fingerprint_s = 0;
  double total_s() const { return fingerprint_s + validate_s + repeat_s + ceilings_s + bench_s + inspect_s; }
};

// "3 min 5 s", "12 s"
std::string duration_words(double seconds);

// Is this standard descriptor a terminal that wants colour (NO_COLOR unset, TERM not dumb)?
bool wants_colour(int descriptor);

class Progress {
 public:
  explicit Progress(bool silent);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A phase of `total` steps that takes at least `least_s`, with at least `later_s` of other phases
  // behind it.
  void begin(const std::string& phase, std::size_t total, double least_s, double later_s);
  void working_on(const std::string& what);
  // One step is done; `result` is told as a line where nothing is drawn, and always when it is a `surprise`.
  void advance(const std::string& result, bool surprise = false);
  void say(const std::string& line);
  // Is told even where nothing else is.
  void warn(const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  void clear();
  std::string time_left() const;

  bool silent_;
  bool draws_;
  std::string phase_, current_;
  std::size_t total_ = 0, done_ = 0;
  double least_s_ = 0, later_s_ = 0;
  Clock::time_point began_, drawn_;
};

}  // namespace ampgate::driver
