// A training that is saved and restored goes on as if it had never stopped, and nothing else is restored.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "cases/case.h"
#include "cases/training/trainer.h"
#include "precision/region.h"
#include "tests/cases/temporary_folder.h"

namespace ampgate::cases {
namespace {

using results::Json;

constexpr int kSteps = 12, kUntil = 5;

enum : std::size_t { kX, kY, kFirst, kSecond, kMeans };

// Two layers with dropout between them, and running means that the step itself writes.
at::Tensor loss(State& state) {
  const at::Tensor hidden = at::linear(state[kX], state[kFirst]).relu();
  at::Tensor means = state[kMeans];
  means.mul_(0.9).add_(hidden.detach().mean(0), 0.1);
  const at::Tensor out = at::linear(at::dropout(hidden - means, 0.25, true), state[kSecond]);
  return at::mse_loss(out.to(state[kY].scalar_type()), state[kY]);
}

State setup(const Shape&, const Fill& fill) {
  return {{{"x", fill.normal("x", {64, 8})},
           {"y", fill.normal("y", {64, 1})},
           {"first", fill.normal("first", {16, 8}, 0.25), Role::kWeight},
           {"second", fill.normal("second", {1, 16}, 0.25), Role::kWeight},
           {"means", at::zeros({16})},
           {"held_out_x", fill.normal("held_out_x", {8, 8})},
           {"held_out_y", fill.normal("held_out_y", {8, 1})}}};
}

Case training_case(Training training) {
  if (training.loss == nullptr) training.loss = loss;
  training.rows = {{"x", "held_out_x"}, {"y", "held_out_y"}};
  return {.name = "tiny",
          .dims = {"batch"},
          .suites = {{"smoke", {{16}}}},
          .outputs = {"loss"},
          .setup = setup,
          .run = [](State& state) -> Outputs { return {loss(state)}; },
          .facts = [](const Shape&) -> Facts { return {}; },
          .shape_prefix = "batch",
          .training = std::move(training)};
}

constexpr OptimizerSpec kSgd{.learning_rate = 0.05};
constexpr OptimizerSpec kAdamW{.kind = OptimizerKind::kAdamW, .learning_rate = 0.01};

OptimizerSpec of(OptimizerSpec spec, std::vector<std::string> parameters) {
  spec.parameters = std::move(parameters);
  return spec;
}

Training momentum() {
  OptimizerSpec spec = kSgd;
  spec.momentum = 0.9;
  spec.weight_decay = 0.01;
  return {.optimizers = {spec}, .schedules = {{.period = 4, .gamma = 0.5}}};
}

constexpr std::uint64_t kSeed = 7;

class Subject {
 public:
  explicit Subject(Training training, const char* precision = "fp32",
                   const precision::GradScalerOptions& scaler = {})
      : case_(training_case(std::move(training))),
        shape_(case_.shape({16})),
        precision_(precision::find(precision)),
        scaler_(scaler) {}

  std::unique_ptr<Trainer> trainer() const {
    const Fill fill(kSeed, case_.name, shape_.name);
    return std::make_unique<Trainer>(
        case_, shape_, fill, setup(shape_, fill),
        TrainerSetup{.precision = precision_, .scaler = needs_scaler(precision_), .scaler_options = scaler_});
  }

 private:
  Case case_;
  Shape shape_;
  const precision::Precision& precision_;
  precision::GradScalerOptions scaler_;
};

class Losses : public StepObserver {
 public:
  void loss(const at::Tensor& loss) override { values.push_back(loss.to(at::kFloat).detach().clone()); }
  std::vector<at::Tensor> values;
};

std::vector<at::Tensor> run(Trainer& trainer, int steps) {
  Losses losses;
  for (int i = 0; i < steps; ++i) trainer.run_step(&losses);
  return losses.values;
}

void expect_same(const at::Tensor& a, const at::Tensor& b, const std::string& name) {
  ASSERT_EQ(a.sizes(), b.sizes()) << name;
  ASSERT_EQ(a.scalar_type(), b.scalar_type()) << name;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  EXPECT_EQ(std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()), 0) << name;
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.state, b.state);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) expect_same(tensor, b.tensors.at(name), name);
}

struct Way {
  const char* name;
  Training training;
  const char* precision = "fp32";
  precision::GradScalerOptions scaler{};
};

class Resumes : public testing::TestWithParam<Way> {};

TEST_P(Resumes, AsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  const Subject subject(GetParam().training, GetParam().precision, GetParam().scaler);
  const auto whole = subject.trainer();
  const auto losses = run(*whole, kSteps);
  const Checkpoint end = whole->save();

  const auto first = subject.trainer();
  run(*first, kUntil);
  write_checkpoint(folder.path() / "middle", first->save());
  run(*first, 2);  // draws from the random generators

  const auto second = subject.trainer();
  run(*second, 1);  // a trainer that has momentum, a scale and steps of its own
  second->restore(read_checkpoint(folder.path() / "middle"));
  EXPECT_EQ(second->iteration(), kUntil);
  const auto rest = run(*second, kSteps - kUntil);
  expect_same(second->save(), end);
  const std::size_t before = losses.size() - rest.size();
  for (std::size_t i = 0; i < rest.size(); ++i) expect_same(rest[i], losses[before + i], "loss");
}

// Momentum of sparse gradients is sparse, and not coalesced: its order counts.
at::Tensor sparse_loss(State& state) {
  const at::Tensor rows = (state[kX].select(1, 0) * 4).to(at::kLong).remainder(16);
  const at::Tensor looked_up = at::embedding(state[kFirst], rows, -1, false, /*sparse=*/true);
  return at::mse_loss(looked_up.mean(1, true).to(state[kY].scalar_type()), state[kY]);
}
Training sparse() {
  OptimizerSpec spec = kSgd;
  spec.momentum = 0.9;
  return {.loss = sparse_loss, .optimizers = {of(spec, {"first"})}};
}

Training adamw() { return {.optimizers = {kAdamW}}; }
Training two() {
  OptimizerSpec sgd = kSgd;
  sgd.momentum = 0.9;
  return {.optimizers = {of(sgd, {"first"}), of(kAdamW, {"second"})},
          .schedules = {{.optimizer = 0, .period = 3, .gamma = 0.5},
                        {.optimizer = 1, .period = 4, .gamma = 0.25}}};
}
Training accumulating() {
  Training training = adamw();
  training.micro_batches = 4;
  training.clip_norm = 0.5;
  return training;
}

INSTANTIATE_TEST_SUITE_P(
    Trainings, Resumes,
    testing::Values(
        Way{"Sgd", {.optimizers = {kSgd}}}, Way{"MomentumAndScheduleInMidPeriod", momentum()},
        Way{"AdamW", adamw()}, Way{"TwoOptimizers", two()}, Way{"SparseMomentum", sparse()},
        Way{"Accumulation", accumulating()}, Way{"Bf16", adamw(), "autocast-bf16"},
        // Grows at steps 3, 6, ... and is saved between two of them.
        Way{"ScalerInMidInterval", momentum(), "autocast-fp16", {.growth_interval = 3}},
        // Too large at first: skipped steps, so that updates lag behind steps.
        Way{"ScalerAfterSkips", two(), "autocast-fp16", {.init_scale = 0x1p18, .growth_interval = 4}},
        Way{"ScalerAndAccumulation", accumulating(), "autocast-fp16", {.growth_interval = 2}}),
    [](const auto& one) { return one.param.name; });

TEST(TrainerState, TheScaledTrainingsSkipAndGrow) {
  const Subject subject(two(), "autocast-fp16", {.init_scale = 0x1p18, .growth_interval = 4});
  const auto trainer = subject.trainer();
  run(*trainer, kUntil);
  EXPECT_LT(trainer->optimizers()[0]->updates(), kUntil);
  EXPECT_GT(trainer->optimizers()[0]->updates(), 0);
  EXPECT_NE(trainer->growth_tracker(), 0) << trainer->scale();
}

TEST(TrainerState, HoldsWhatTheNextStepBeginsWith) {
  const Subject subject(two(), "autocast-fp16", {.init_scale = 1024});
  const precision::IslandScope regions({"encoder.0"});
  const auto trainer = subject.trainer();
  run(*trainer, 3);
  const Checkpoint checkpoint = trainer->save();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : checkpoint.tensors) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"buffers.means", "generators.cpu", "optimizers.0.first.first",
                                             "optimizers.1.second.first", "optimizers.1.second.second",
                                             "weights.first", "weights.second"}));
  const Json& state = checkpoint.state;
  EXPECT_EQ(state.at("case"), "tiny");
  EXPECT_EQ(state.at("shape"), "batch16");
  EXPECT_EQ(state.at("seed"), 7);
  EXPECT_EQ(state.at("precision"), "autocast-fp16");
  EXPECT_EQ(state.at("fp32_regions"), Json({"encoder.0"}));
  EXPECT_EQ(state.at("device"), "cpu");
  EXPECT_EQ(state.at("iteration"), 3);
  EXPECT_EQ(state.at("optimizers").at(1), Json({{"updates", 3}, {"learning_rate", 0.01}, {"steps", {3}}}));
  EXPECT_EQ(state.at("optimizers").at(0).at("learning_rate"), 0.025);
  EXPECT_EQ(state.at("schedules"), Json({{{"applied", 3}}, {{"applied", 3}}}));
  EXPECT_EQ(state.at("scaler").at("scale"), 1024);
  EXPECT_EQ(state.at("scaler").at("growth_tracker"), 3);
  EXPECT_EQ(state.at("configuration").at("optimizers").at(0).at("parameters"), Json({"first"}));
}

TEST(TrainerState, IsACopy) {
  const Subject subject(momentum());
  const auto trainer = subject.trainer();
  run(*trainer, 2);
  const Checkpoint checkpoint = trainer->save();
  const at::Tensor momentum = checkpoint.tensors.at("optimizers.0.first.first").clone();
  const at::Tensor weight = checkpoint.tensors.at("weights.first").clone();
  run(*trainer, 2);
  expect_same(checkpoint.tensors.at("optimizers.0.first.first"), momentum, "momentum");
  expect_same(checkpoint.tensors.at("weights.first"), weight, "weight");
}

// What may be done to a checkpoint, and what is then said.
struct Damage {
  const char* name;
  std::function<void(Checkpoint&)> damage;
  std::vector<std::string> words;
};

class Refuses : public testing::TestWithParam<Damage> {};

TEST_P(Refuses, AndChangesNothing) {
  const Subject subject(two(), "autocast-fp16");
  const auto trainer = subject.trainer();
  run(*trainer, 3);
  Checkpoint checkpoint = trainer->save();
  run(*trainer, 2);
  const Checkpoint before = trainer->save();
  trainer->restore(before);  // as it is, it is taken
  GetParam().damage(checkpoint);
  std::string said;
  try {
    trainer->restore(checkpoint);
  } catch (const std::invalid_argument& error) {
    said = error.what();
  }
  for (const auto& word : GetParam().words)
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
  expect_same(trainer->save(), before);
}

Damage state(const char* name, const char* pointer, Json value, std::vector<std::string> words) {
  return {name, [=](Checkpoint& checkpoint) { checkpoint.state[Json::json_pointer(pointer)] = value; },
          std::move(words)};
}

Damage without(const char* name, const char* parent, const char* key, std::vector<std::string> words) {
  return {name, [=](Checkpoint& checkpoint) { checkpoint.state.at(Json::json_pointer(parent)).erase(key); },
          std::move(words)};
}

Damage tensor(const char* name, const char* which, at::Tensor value, std::vector<std::string> words) {
  return {name,
          [=](Checkpoint& checkpoint) {
            checkpoint.tensors.erase(which);
            if (value.defined()) checkpoint.tensors[which] = value;
          },
          std::move(words)};
}

INSTANTIATE_TEST_SUITE_P(
    Damaged, Refuses,
    testing::Values(
        state("OtherCase", "/case", "huge", {"case", "huge", "tiny"}),
        state("OtherShape", "/shape", "batch32", {"shape", "batch32", "batch16"}),
        state("OtherSeed", "/seed", 8, {"seed", "8", "7"}),
        state("OtherPrecision", "/precision", "fp32", {"precision", "fp32", "autocast-fp16"}),
        state("OtherRegions", "/fp32_regions", Json({"encoder.0"}), {"fp32_regions", "encoder.0"}),
        state("OtherDevice", "/device", "cuda", {"device", "cuda", "cpu"}),
        state("OtherLearningRate", "/configuration/optimizers/1/learning_rate", 0.5,
              {"configuration/optimizers/1/learning_rate", "0.5", "0.01"}),
        state("OtherPeriod", "/configuration/schedules/0/period", 30, {"schedules/0/period", "30", "3"}),
        state("MoreOptimizers", "/configuration/optimizers/2", Json({{"kind", "sgd"}}),
              {"configuration/optimizers", "sgd"}),
        without("NoCase", "", "case", {"case", "missing"}),
        without("NoConfiguration", "", "configuration", {"configuration", "missing"}),
        without("NoIteration", "", "iteration", {"iteration", "missing"}),
        without("NoScaler", "", "scaler", {"no gradient scaler"}),
        without("NoScale", "/scaler", "scale", {"scaler/scale", "missing"}),
        without("NoSteps", "/optimizers/0", "steps", {"optimizers/0/steps", "missing"}),
        state("NegativeIteration", "/iteration", -1, {"iteration", "-1"}),
        state("IterationInWords", "/iteration", "three", {"iteration", "three"}),
        state("NoListOfOptimizers", "/optimizers", 5, {"optimizers", "array"}),
        state("TooFewOptimizers", "/optimizers", Json::array(), {"optimizers", "array of 2"}),
        state("MoreUpdatesThanSteps", "/optimizers/0/updates", 9, {"optimizers/0/updates", "9"}),
        state("MoreStepsThanUpdates", "/optimizers/0/steps/0", 9, {"stepped 9 times in 3 updates"}),
        state("StepsOfMoreParameters", "/optimizers/0/steps", Json({3, 3}), {"2 parameters"}),
        state("StepsThatAreNoCounts", "/optimizers/0/steps", Json({0.5}), {"optimizers/0/steps", "counts"}),
        state("LearningRateInWords", "/optimizers/0/learning_rate", "high", {"learning_rate"}),
        state("TooManyApplied", "/schedules/1/applied", 4, {"schedules/1/applied", "4"}),
        state("ScaleBeyondFloat32", "/scaler/scale", 1e300, {"scaler/scale", "float32"}),
        state("ScaleInWords", "/scaler/scale", "large", {"scaler/scale"}),
        state("TrackerTooLarge", "/scaler/growth_tracker", 1L << 40, {"growth_tracker"}),
        state("EmptyScaler", "/scaler", Json::object(), {"scaler", "empty"}),
        state("UnknownMember", "/temperature", 1, {"temperature", "unknown"}),
        state("UnknownMemberOfAnOptimizer", "/optimizers/0/beta", 1, {"optimizers/0/beta", "unknown"}),
        state("ChangesThatAreNone", "/changes", 1, {"changes", "array"}),
        state("AChangeOfNothing", "/changes", {{{"x", 1}}}, {"/changes/0", "iteration"}),
        state("AChangeFromWords", "/changes", {{{"iteration", 1}, {"from", "fp32"}, {"to", "fp32"}}},
              {"/changes/0", "from"}),
        state("AnIterationThatNothingCanFollow", "/iteration", std::numeric_limits<std::int64_t>::max(),
              {"iteration", "9223372036854775807"}),
        tensor("NoWeight", "weights.second", {}, {"weights.second"}),
        tensor("NoBuffer", "buffers.means", {}, {"buffers.means"}),
        tensor("NoMomentum", "optimizers.0.first.first", {}, {"optimizer 0", "first.first", "missing"}),
        tensor("NoSecondMoment", "optimizers.1.second.second", {}, {"optimizer 1", "second.second"}),
        tensor("NoGenerator", "generators.cpu", {}, {"random generator", "cpu"}),
        tensor("WeightOfOtherSize", "weights.second", at::zeros({16, 1}), {"[16, 1]", "[1, 16]"}),
        tensor("WeightOfOtherType", "weights.second", at::zeros({1, 16}, at::kHalf), {"float16", "float32"}),
        tensor("MomentOfOtherSize", "optimizers.1.second.second", at::zeros({2, 16}), {"[2, 16]"}),
        tensor("MomentOfOtherType", "optimizers.0.first.first", at::zeros({16, 8}, at::kDouble),
               {"float64", "float32"}),
        tensor("GeneratorOfOtherSize", "generators.cpu", at::zeros({8}, at::kByte),
               {"generators.cpu", "[8]"}),
        tensor("ForeignTensor", "optimizers.0.third.first", at::zeros({1}), {"third.first", "no place"}),
        tensor("TensorOfNobody", "weights.third", at::zeros({1}), {"weights.third", "no place"})),
    [](const auto& one) { return one.param.name; });

void visit(const Json& value, const Json::json_pointer& at,
           const std::function<void(const Json::json_pointer&)>& use) {
  use(at);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) visit(member, at / key, use);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) visit(value[i], at / i, use);
  }
}

TEST(TrainerState, NoValueInTheStateDoesMoreThanBeRefused) {
  const Subject subject(two(), "autocast-fp16");
  const auto trainer = subject.trainer();
  run(*trainer, 3);
  const Checkpoint good = trainer->save();
  int refused = 0, taken = 0;
  visit(good.state, Json::json_pointer(), [&](const Json::json_pointer& place) {
    for (const Json& value : {Json(nullptr), Json(true), Json(-1), Json(1e300), Json(std::uint64_t{1} << 63),
                              Json("x"), Json("nan"), Json::array(), Json::object(), Json({{"x", 1}})}) {
      for (const auto other : {OtherPrecision::kRefused, OtherPrecision::kAllowed}) {
        Checkpoint bad = good;
        bad.state[place] = value;
        try {
          trainer->restore(bad, other);
          ++taken;
          trainer->restore(good, OtherPrecision::kAllowed);
        } catch (const std::invalid_argument& error) {
          ++refused;
          EXPECT_NE(std::string(error.what()), "");
        }
        EXPECT_EQ(trainer->save().state, good.state) << place << ": " << value;
      }
    }
  });
  EXPECT_GT(refused, 1000);
  EXPECT_LT(taken, refused / 10);
}

TEST(TrainerState, AnotherPrecisionMustBeAskedForAndIsRecorded) {
  const Subject half_subject(momentum(), "autocast-fp16", {.init_scale = 4096, .growth_interval = 2});
  const auto half = half_subject.trainer();
  run(*half, 5);
  const Checkpoint checkpoint = half->save();
  const Subject single_subject(momentum());
  const auto single = single_subject.trainer();
  EXPECT_THROW(single->restore(checkpoint), std::invalid_argument);
  single->restore(checkpoint, OtherPrecision::kAllowed);
  EXPECT_EQ(single->iteration(), 5);
  expect_same(single->save().tensors.at("weights.first"), checkpoint.tensors.at("weights.first"), "weight");
  expect_same(single->save().tensors.at("optimizers.0.first.first"),
              checkpoint.tensors.at("optimizers.0.first.first"), "momentum");
  run(*single, 2);
  const Json change{
      {"iteration", 5},
      {"from", {{"precision", "autocast-fp16"}, {"fp32_regions", Json::array()}, {"device", "cpu"}}},
      {"to", {{"precision", "fp32"}, {"fp32_regions", Json::array()}, {"device", "cpu"}}}};
  const Checkpoint later = single->save();
  EXPECT_EQ(later.state.at("changes"), Json({change}));

  // Back again: both changes are there, and the scaler is a new one.
  half->restore(later, OtherPrecision::kAllowed);
  EXPECT_EQ(half->changes().size(), 2U);
  EXPECT_EQ(half->scale(), 4096);
  EXPECT_EQ(half->growth_tracker(), 0);
}

TEST(TrainerState, WhereAllowedTheSamePrecisionIsNoChange) {
  const Subject subject(momentum(), "autocast-fp16", {.growth_interval = 3});
  const auto trainer = subject.trainer();
  run(*trainer, 4);
  const Checkpoint checkpoint = trainer->save();
  run(*trainer, 1);
  trainer->restore(checkpoint, OtherPrecision::kAllowed);
  expect_same(trainer->save(), checkpoint);
}

TEST(TrainerState, SparseMomentumIsChecked) {
  const Subject subject(sparse());
  const auto trainer = subject.trainer();
  run(*trainer, 3);
  const Checkpoint good = trainer->save();
  const std::string name = "optimizers.0.first.first";
  ASSERT_EQ(good.tensors.count(name + ".indices"), 1U);
  const std::pair<std::string, at::Tensor> damages[] = {
      {".indices", good.tensors.at(name + ".indices") + 16},  // beyond the rows
      {".indices", good.tensors.at(name + ".indices").to(at::kFloat)},
      {".indices", at::zeros({1, 1}, at::kLong)},
      {".values", at::zeros({3})},
      {".values", good.tensors.at(name + ".values").to(at::kDouble)},
      {".coalesced", at::zeros({2})},
      {".indices", at::Tensor()}};
  for (const auto& [part, value] : damages) {
    Checkpoint bad = good;
    bad.tensors.erase(name + part);
    if (value.defined()) bad.tensors[name + part] = value;
    EXPECT_THROW(trainer->restore(bad), std::invalid_argument) << part;
    expect_same(trainer->save(), good);
  }
}

TEST(TrainerState, TheScalersTensorsStayWhereTheyAre) {
  const Subject subject(two(), "autocast-fp16", {.init_scale = 1024});
  const auto trainer = subject.trainer();
  const Checkpoint start = trainer->save();
  run(*trainer, 2);
  const void* const scale = trainer->scaler().scale_tensor().const_data_ptr();
  trainer->restore(start);
  EXPECT_EQ(trainer->growth_tracker(), 0);
  run(*trainer, 1);
  EXPECT_EQ(trainer->scaler().scale_tensor().const_data_ptr(), scale);
}

// A step that threw leaves a scaler in the middle of its step.
TEST(TrainerState, RollsBackAStepThatWasNotFinished) {
  const Subject subject(two(), "autocast-fp16");
  const auto trainer = subject.trainer();
  run(*trainer, 2);
  const Checkpoint checkpoint = trainer->save();
  run(*trainer, 1);
  const Checkpoint after = trainer->save();
  trainer->restore(checkpoint);
  trainer->compute_gradients();  // unscaled, and not updated
  trainer->restore(checkpoint);
  run(*trainer, 1);
  expect_same(trainer->save(), after);
}

}  // namespace
}  // namespace ampgate::cases
