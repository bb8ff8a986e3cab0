// One fresh bench process after another: a process is a sample. Each goes through all groups; its samples are
// journaled when it ends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/context.h"
#include "driver/measuring.h"

namespace ampgate::driver {

// One of the processes that measure. Those of each mode are numbered from 0.
struct BenchProcess {
  int number = 0;
  std::string mode = "warm";
  int look = 0;  // after which its samples are first looked at; 0: the number of blocks is fixed
  std::optional<double> group_time_s{};  // of a budget: after so long no further block of a group begins
};

// The plan's `bench` object.
results::Json bench_settings(const Context& context, const Schedule& schedule, const BenchProcess& process);

// A trial as bench and inspect want it: with its verdict and its evidence.
results::Json planned_with_evidence(const Context& context, const Trial& trial);

class BenchProcesses {
 public:
  // `refusals`: trials that the gate keeps out, with the reason.
  BenchProcesses(Context& context, Schedule schedule, std::map<std::string, std::string> refusals);

  // Runs the process over the groups and journals it. A trial that crashes or times out gets
  // that verdict, and a new process of the same number measures the groups that were not complete.
  void run(const BenchProcess& process, const std::vector<std::vector<Trial>>& groups);

 private:
  Context& context_;
  Schedule schedule_;
  std::map<std::string, std::string> refusals_;
};

}  // namespace ampgate::driver
