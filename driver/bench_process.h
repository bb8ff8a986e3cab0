// One fresh bench process after another: a process is a sample. Each goes through all groups; its samples are
// journaled when it ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/context.h"

namespace ampgate::driver {

// The plan's `bench` object.
results::Json bench_settings(const Context& context, int blocks, int process);

// A trial as bench and inspect want it: with its verdict and its evidence.
results::Json planned_with_evidence(const Context& context, const Trial& trial);

class BenchProcesses {
 public:
  // `refusals`: trials that the gate keeps out, with the reason.
  BenchProcesses(Context& context, int blocks, std::map<std::string, std::string> refusals);

  // Runs process number `process` over the groups and journals it. A trial that crashes or times out gets
  // that verdict, and a new process of the same number measures the groups that were not complete.
  void run(int process, int look, const std::vector<std::vector<Trial>>& groups);

 private:
  Context& context_;
  int blocks_;
  std::map<std::string, std::string> refusals_;
};

}  // namespace ampgate::driver
