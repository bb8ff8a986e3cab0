// A case whose behaviour a test sets: it doubles its input, counts its calls, and goes wrong from a chosen
// call on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/inference_body.h"
#include "bench/plan.h"
#include "cases/case.h"
#include "results/json.h"
#include "results/protocol.h"

namespace ampgate::bench::testing {

enum class Fault { kNone, kThrow, kWrongOutput, kWriteInput, kKeepMemory, kReadValue, kAct };

struct Behaviour {
  Fault fault = Fault::kNone;
  c10::ScalarType type = c10::kFloat;  // of the input with which the fault shows
  long from_call = 0;                  // counted over the calls with that type
  long calls = 0;                      // with that type
  std::vector<at::Tensor> kept{};
  std::function<void(at::Tensor& output)> act{};  // with kAct: what the body does beside its operator
  cases::Facts facts{};
};

// Of the case "fake", as the running test set it.
Behaviour& behaviour();

const cases::Case& fake_case();

// A plan for "fake" in these precisions, each with the verdict `pass` and evidence that fits this process.
// Restores the behaviour's count. The caller holds an at::NoGradGuard, as the worker does.
Plan fake_plan(Phase phase, const std::vector<std::string>& precisions, backends::Backend& backend);

// The events that `work` writes, in their order.
std::vector<results::Json> events_of(const std::function<void(results::EventWriter&)>& work);

// Those of one name.
std::vector<results::Json> named(const std::vector<results::Json>& events, const std::string& name);

// The trial_finished event of a trial; null when there is none.
results::Json answer(const std::vector<results::Json>& events, const std::string& id);

}  // namespace ampgate::bench::testing
