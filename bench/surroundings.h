// The state that a body finds and must leave as it was.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/cell.h"
#include "bench/plan.h"
#include "results/json.h"

namespace ampgate::bench {

struct Surroundings {
  backends::Fields settings;         // as backends::read_settings() gives them
  std::vector<std::string> ambient;  // as ambient_problems() gives them
  at::Tensor generator;              // state of the device's default generator of random numbers
  c10::Allocator* allocator;
  int descriptors = 0;  // open files, pipes and so on
  int children = 0;     // processes that this one started and that live
  int niceness = 0;
  int scheduling = 0;  // policy, as sched_getscheduler() has it
};

// As they are now, in the trial's numerics scope. Starts parallel work, to count threads.
Surroundings read_surroundings(const Body& body);

// The first setting that differs, with both values; empty when none does.
std::string changed_setting(const backends::Fields& before, const backends::Fields& after);

// The first setting that is not as in the evidence (observation.h); empty when there is none.
std::string other_than_validated(const results::Json& evidence, Mode mode);

// The first thing that goes on around the body or is set otherwise than validated; empty when there is none.
std::string unlike_validation(const Body& body, const results::Json& evidence, Mode mode);

// What is not as it was, in words; the generator apart.
std::vector<std::string> changes(const Surroundings& before, const Surroundings& after);

}  // namespace ampgate::bench
