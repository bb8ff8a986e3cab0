// What all trials of a plan share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "results/json.h"
#include "results/rules.h"
#include "validate/stale_output.h"

namespace ampgate::validate {

struct Session {
  backends::Backend& backend;
  results::Json device;    // identity, as evidence carries it
  results::Json libtorch;  // version, build and libraries
  results::Rules rules;
  std::string rules_sha256;
  std::uint64_t seed;
  // Where FP32 products are not FP32 on this device, in words (tf32_probe.h); empty: they are.
  std::string lowered_fp32{};
  // Of the case before, for mutants.
  std::shared_ptr<StaleOutput> outputs = std::make_shared<StaleOutput>();
  // Says that the trial in flight has come further: what consists of many trainings is not silent.
  std::function<void()> advance = [] {};
};

}  // namespace ampgate::validate
