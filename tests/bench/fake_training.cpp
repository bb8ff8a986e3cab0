#include "fake_training.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/mse_loss.h>

#include <memory>
#include <utility>

#include "backends/digest.h"
#include "bench/numerics.h"
#include "bench/observation.h"
#include "bench/output_check.h"
#include "cases/fills.h"
#include "cases/operator_recorder.h"
#include "cases/training/trainer.h"

namespace ampgate::bench::testing {
namespace {

using results::Json;

enum : std::size_t { kX, kTarget, kWeight };

cases::State setup(const cases::Shape&, const cases::Fill& fill) {
  at::Tensor x = fill.normal("x", {32, 4});
  if (training_behaviour().outlier) x[7][0] = 1e5;  // beyond FP16
  return {{{"x", x},
           {"target", fill.normal("target", {32, 1})},
           {"w", fill.uniform("w", {1, 4}, 0.1, 0.5), cases::Role::kWeight},
           {"held_out_x", fill.normal("held_out_x", {16, 4})},
           {"held_out_target", fill.normal("held_out_target", {16, 1})}}};
}

// Saturates at large inputs, so that their gradient is 0; NaN where an infinity is multiplied by it.
cases::Outputs predict(cases::State& state) { return {at::linear(state[kX], state[kWeight]).tanh()}; }

at::Tensor loss(cases::State& state) {
  at::Tensor value = at::mse_loss(predict(state)[0], state[kTarget]);
  TrainingBehaviour& now = training_behaviour();
  if (++now.calls > now.from_call && now.act) now.act(state, value);
  return value;
}

const cases::Registration registration{{
    .name = "fake_training",
    .dims = {"batch"},
    .suites = {},
    .outputs = {"y"},
    .setup = setup,
    .run = predict,
    .facts = [](const cases::Shape&) -> cases::Facts { return {}; },
    .model = true,
    .training =
        cases::Training{
            .loss = loss,
            .optimizers = {{.kind = cases::OptimizerKind::kSgd, .learning_rate = 0.05, .momentum = 0.9}},
            .rows = {{"x", "held_out_x"}, {"target", "held_out_target"}}},
}};

const cases::Case& fake_training() { return cases::registry().at("fake_training"); }

constexpr std::uint64_t kSeed = 1;

std::unique_ptr<cases::Trainer> trainer(const precision::Precision& precision, backends::Backend& backend) {
  const cases::Shape shape = fake_training().shape({8});
  const cases::Fill fill(kSeed, "fake_training", shape.name);
  return std::make_unique<cases::Trainer>(
      fake_training(), shape, fill, fake_training().setup(shape, fill),
      cases::TrainerSetup{
          .precision = precision, .scaler = cases::needs_scaler(precision), .device = backend.device()});
}

Json evidence_of(const Plan& plan, const precision::Precision& precision, backends::Backend& backend) {
  const cases::Shape shape = fake_training().shape({8});
  const cases::State original =
      fake_training().setup(shape, cases::Fill(plan.seed, "fake_training", shape.name));
  Json evidence =
      observe_trial(observe_group(plan, backend, fake_training(), shape, original, state_digests(original)),
                    precision, Mode::kWarm);
  const auto numerics = numerics_scope(precision);
  const auto trained = trainer(precision, backend);
  Json weights = Json::array();
  const auto note = [&] { weights.push_back(backends::digest_of_all(trained->weights())); };
  while (trained->iteration() < kFirstStep) trained->run_step();
  note();
  trained->load_batches(kUpdates);
  {
    cases::OperatorRecorder recorder;
    trained->run_step();
    evidence["operators"] = cases::to_json(recorder.take());
  }
  note();
  while (trained->iteration() < kUpdates) {
    trained->run_step();
    note();
  }
  evidence["repeatable"] = true;
  evidence["outputs"]["weights"] = weights.back();
  evidence["training"] = {{"first_step", kFirstStep},
                          {"weights", weights},
                          {"held_out", backends::digest_of_all(trained->evaluate())}};
  return evidence;
}

}  // namespace

TrainingBehaviour& training_behaviour() {
  static TrainingBehaviour value;
  return value;
}

Plan fake_training_plan(Phase phase, const std::vector<std::string>& precisions, backends::Backend& backend) {
  Plan plan;
  plan.phase = phase;
  plan.seed = kSeed;
  plan.rules_sha256 = "rules";
  plan.schedule = {.blocks = 3, .first_block = 4, .cell_time_ns = 200'000, .order_seed = 11};
  plan.groups.push_back({"fake_training", {8}, {}});
  TrainingBehaviour asked = std::exchange(training_behaviour(), TrainingBehaviour{});
  training_behaviour().outlier = asked.outlier;
  for (const auto& name : precisions) {
    const auto& precision = precision::find(name);
    plan.groups[0].trials.push_back({"fake_training/8/" + name, &precision, results::Verdict::kPass,
                                     evidence_of(plan, precision, backend)});
  }
  training_behaviour() = std::move(asked);
  return plan;
}

int applied_from_first_step(const std::string& precision, backends::Backend& backend, std::int64_t steps) {
  const auto trained = trainer(precision::find(precision), backend);
  int applied = 0;
  while (trained->iteration() < kFirstStep + steps) {
    trained->run_step();
    if (trained->iteration() > kFirstStep) applied += trained->stepped()[0] ? 1 : 0;
  }
  return applied;
}

}  // namespace ampgate::bench::testing
