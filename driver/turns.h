// Runs that take turns on one machine: one process of each after the other, so that the speed at which the
// machine itself wanders is the same for all of them. They meet in a file that each of them was given.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "results/json.h"

namespace ampgate::driver {

// This run's place among those that share the file. The file holds {"series", "runs", "joined", "next"}; its
// first byte is locked to change it, and each run keeps a byte of its own locked for as long as it lives, so
// that nobody waits for one that ended.
class Turns {
 public:
  // Joins the runs that share `file`, and makes it where it is missing or where all of its runs have ended.
  // Throws results::EnvironmentError where it cannot be written, results::FileError where it is something
  // else, results::UsageError where as many as `runs` joined already or they were told another number.
  Turns(const std::filesystem::path& file, int runs);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Calls `work` when it is this run's turn, and passes the turn on when it returns; a run that throws ends,
  // and who has ended is passed over. The first turn waits for all runs to join. `work` gets what a record
  // keeps of the turn: {"series", "number"}, where the same number stands for processes that ran beside each
  // other. Throws Interrupted, and results::EnvironmentError where the others did not come in time or the
  // file was taken away.
  void take(const std::function<void(const results::Json& turn)>& work);

 private:
  struct Locked;
  bool lives(int run) const;
  results::Json read() const;
  void write(const results::Json& state) const;
  // The number of this turn, once it is this run's.
  int wait();
  void pass_on();

  std::filesystem::path file_;
  int descriptor_ = -1;
  int runs_;
  int own_ = 0;
  std::string series_;
};

}  // namespace ampgate::driver
