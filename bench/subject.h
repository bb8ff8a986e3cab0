// A trial that may run: its body, and how what the body does is checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/body.h"
#include "bench/cell.h"
#include "bench/plan.h"
#include "cases/case.h"
#include "results/json.h"

namespace ampgate::bench {

// From which process's batches of how many calls the untimed ones are drawn.
struct CheckPlan {
  std::uint64_t seed = 0;
  int process = 0;
  std::int64_t calls_per_cell = 0;
};

// Checks say in words what is wrong; empty: nothing. The caller is in the trial's scope (trial_scope.h).
class Subject {
 public:
  explicit Subject(const Trial& trial) : trial_(trial) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const Trial& trial() const { return trial_; }
  virtual Body& body() = 0;

  // The first calls, before anything is timed.
  virtual std::string begin() = 0;
  // What a cell left. Looking must not take the time of measuring: all cells are looked at while that costs
  // little, else only those for which `must` is set.
  virtual std::string look(const Cell& cell, bool must) = 0;
  // After all timed calls: untimed ones, and what must not have changed.
  virtual std::string check(const CheckPlan& plan) = 0;

  // What the answer says of the checks: {"output_check", "cells_checked", ...}.
  virtual results::Json answer() const = 0;

 private:
  const Trial& trial_;
};

// What the case's trials have in common.
struct Common {
  const cases::Case& definition;
  cases::Shape shape;
  std::uint64_t seed;
  cases::State original;             // FP32, on the CPU
  std::vector<std::string> digests;  // of its tensors
};

// Empty when the trial's evidence has something to check every result of the case with; else what is missing.
std::string missing_check(const Common& common, const Trial& trial);

// `trial` and `common` outlive the subject. Throws what setting up a trial throws.
std::unique_ptr<Subject> make_subject(const Common& common, const Trial& trial,
                                      const backends::Backend& backend);

}  // namespace ampgate::bench
