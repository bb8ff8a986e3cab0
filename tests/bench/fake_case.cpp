#include "fake_case.h"

#include <ATen/ops/add.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "backends/digest.h"
#include "bench/audit.h"
#include "bench/numerics.h"
#include "bench/observation.h"
#include "bench/output_check.h"
#include "cases/execute.h"
#include "cases/fills.h"

namespace ampgate::bench::testing {
namespace {

using results::Json;

cases::Outputs run(cases::State& state) {
  at::Tensor output = at::add(state[0], state[0]);
  Behaviour& now = behaviour();
  if (state[0].scalar_type() != now.type || ++now.calls <= now.from_call) return {output};
  switch (now.fault) {
    case Fault::kNone:
      break;
    case Fault::kThrow:
      throw std::runtime_error("thrown on request");
    case Fault::kWrongOutput:
      output.view(-1)[3].add_(1.0);
      break;
    case Fault::kWriteInput:
      state.tensors[0].tensor.view(-1)[0].add_(1.0);
      break;
    case Fault::kKeepMemory:
      now.kept.push_back(output);
      break;
    case Fault::kReadValue:
      output.view(-1)[0].item();
      break;
    case Fault::kAct:
      now.act(output);
      break;
  }
  return {output};
}

const cases::Registration registration{{
    .name = "fake",
    .dims = {"n"},
    .suites = {},
    .outputs = {"out"},
    .setup = [](const cases::Shape& shape, const cases::Fill& fill) -> cases::State {
      return {{{"x", fill.normal("x", {shape["n"]})}}};
    },
    .run = run,
    .facts = [](const cases::Shape&) -> cases::Facts { return behaviour().facts; },
}};

// What phase 1 would have left behind for a run of this process.
Json evidence_of(const Plan& plan, const cases::Shape& shape, const cases::State& original,
                 const precision::Precision& precision, backends::Backend& backend) {
  Json evidence =
      observe_trial(observe_group(plan, backend, fake_case(), shape, original, state_digests(original)),
                    precision, Mode::kWarm);
  auto prepared = cases::prepare(original, precision, backend.device());
  InferenceBody body(fake_case(), prepared, precision, backend.device().type());
  const auto numerics = numerics_scope(precision);
  evidence["operators"] = cases::to_json(audit(body, {}, evidence, backend).operators);
  evidence["repeatable"] = true;
  evidence["outputs"]["out"] =
      backends::digest(cases::execute(fake_case(), prepared, precision, backend.device().type())[0]);
  return evidence;
}

}  // namespace

Behaviour& behaviour() {
  static Behaviour value;
  return value;
}

const cases::Case& fake_case() { return cases::registry().at("fake"); }

Plan fake_plan(Phase phase, const std::vector<std::string>& precisions, backends::Backend& backend) {
  Plan plan;
  plan.phase = phase;
  plan.seed = 1;
  plan.rules_sha256 = "rules";
  plan.schedule = {.blocks = 3, .first_block = 4, .cell_time_ns = 200'000, .order_seed = 11};
  plan.groups.push_back({"fake", {1000}, {}});

  const Behaviour asked = std::exchange(behaviour(), Behaviour{});
  const cases::Shape shape = fake_case().shape({1000});
  const cases::State original = fake_case().setup(shape, cases::Fill(plan.seed, "fake", shape.name));
  for (const auto& name : precisions) {
    const auto& precision = precision::find(name);
    plan.groups[0].trials.push_back({"fake/1000/" + name, &precision, results::Verdict::kPass,
                                     evidence_of(plan, shape, original, precision, backend)});
  }
  behaviour() = asked;
  return plan;
}

std::vector<Json> events_of(const std::function<void(results::EventWriter&)>& work) {
  const std::string file = ::testing::TempDir() + "events" + std::to_string(getpid()) + ".jsonl";
  {
    results::EventWriter writer(file);
    work(writer);
  }
  std::vector<Json> events;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  std::remove(file.c_str());
  return events;
}

std::vector<Json> named(const std::vector<Json>& events, const std::string& name) {
  std::vector<Json> result;
  for (const auto& event : events) {
    if (event.at("event") == name) result.push_back(event);
  }
  return result;
}

Json answer(const std::vector<Json>& events, const std::string& id) {
  for (const auto& event : named(events, "trial_finished")) {
    if (event.at("id") == id) return event;
  }
  return nullptr;
}

}  // namespace ampgate::bench::testing
