// Each numbered property of torch.amp.GradScaler, with values from the definition of the formats.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "precision/grad_scaler.h"

namespace ampgate::precision {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CountingOptimizer : public Optimizer {
 public:
  explicit CountingOptimizer(std::vector<at::Tensor> gradients) {
    for (at::Tensor& gradient : gradients) {
      parameters_.push_back(at::zeros({1}));
      parameters_.back().mutable_grad() = std::move(gradient);
    }
  }
  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  void step() override { ++steps; }
  at::Tensor& gradient(std::size_t index = 0) { return parameters_[index].mutable_grad(); }

  int steps = 0;

 private:
  std::vector<at::Tensor> parameters_;
};

// Ready for unscale_ and step: scale and tracker exist.
GradScaler begun(const GradScalerOptions& options = {}) {
  GradScaler scaler(at::kCPU, options);
  scaler.scale(at::ones({}));
  return scaler;
}

GradScaler begun_at(double scale) { return begun({.init_scale = scale}); }

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const GradScalerError& error) {
    return error.what();
  }
  return "";
}

at::Tensor values(std::vector<float> list) { return at::tensor(list); }

void step_and_update(GradScaler& scaler, float gradient) {
  CountingOptimizer optimizer({values({gradient})});
  scaler.step(optimizer);
  scaler.update();
}

TEST(GradScaler, DefaultsAndWhatTheConstructorChecks) {
  const GradScaler scaler(at::kCPU);
  EXPECT_TRUE(scaler.is_enabled());
  EXPECT_EQ(scaler.get_scale(), 65536);
  EXPECT_EQ(scaler.get_growth_factor(), 2);
  EXPECT_EQ(scaler.get_backoff_factor(), 0.5);
  EXPECT_EQ(scaler.get_growth_interval(), 2000);
  const auto make = [](const GradScalerOptions& options) { GradScaler(at::kCPU, options); };
  EXPECT_EQ(error_of([&] { make({.growth_factor = 1}); }), "The growth factor must be > 1.0.");
  EXPECT_EQ(error_of([&] { make({.backoff_factor = 1}); }), "The backoff factor must be < 1.0.");
  for (const double scale : {0.0, -5.0, std::nan("")}) EXPECT_NO_THROW(make({.init_scale = scale}));
  EXPECT_NO_THROW(make({.backoff_factor = -1}));
  EXPECT_NO_THROW(make({.growth_factor = 1, .backoff_factor = 1, .enabled = false}));
}

TEST(GradScaler, DisabledOnlyCallsTheOptimizer) {
  GradScaler scaler(at::kCPU, {.init_scale = 8, .enabled = false});
  const at::Tensor loss = at::ones({});
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  CountingOptimizer optimizer({values({kInfinity})});
  scaler.unscale_(optimizer);
  scaler.unscale_(optimizer);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_TRUE(scaler.step(optimizer, [&] { optimizer.steps += 10; }));
  EXPECT_EQ(optimizer.steps, 12);
  scaler.update();
  scaler.update(3.0);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);
  EXPECT_TRUE(scaler.state_dict().empty());
  EXPECT_NO_THROW(scaler.load_state_dict({}));
}

TEST(GradScaler, NothingIsThereBeforeTheFirstScale) {
  GradScaler scaler(at::kCPU, {.init_scale = 0.1});
  CountingOptimizer optimizer({values({1})});
  const std::string fix =
      " but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier "
      "in the iteration.";
  EXPECT_EQ(error_of([&] { scaler.unscale_(optimizer); }), "Attempted unscale_" + fix);
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }), "Attempted step" + fix);
  EXPECT_EQ(error_of([&] { scaler.update(); }), "Attempted update" + fix);
  EXPECT_EQ(error_of([&] { scaler.update(2.0); }), "Attempted update" + fix);
  EXPECT_FALSE(scaler.scale_tensor().defined());
  EXPECT_EQ(scaler.get_scale(), 0.1);
  scaler.scale(at::ones({}));
  EXPECT_EQ(scaler.get_scale(), 0.1F);
  EXPECT_EQ(scaler.scale_tensor().dim(), 0);
  EXPECT_EQ(scaler.growth_tracker_tensor().scalar_type(), at::kInt);
  EXPECT_THROW(begun_at(1e39), std::runtime_error);  // LibTorch: beyond float32
}

TEST(GradScaler, AScalarFp16LossIsScaledInFp32) {
  GradScaler scaler(at::kCPU);
  const at::Tensor scaled = scaler.scale(at::ones({}, at::kHalf));
  EXPECT_EQ(scaled.scalar_type(), at::kFloat);
  EXPECT_EQ(scaled.item<float>(), 65536);
  EXPECT_EQ(scaler.scale(at::ones({2}, at::kHalf))[0].item<float>(), kInfinity);
}

TEST(GradScaler, ScaleGoesToTheDeviceOfTheFirstLossWhateverTheConstructors) {
  GradScaler scaler(at::kCPU);
  scaler.scale(at::ones({}, at::kMeta));
  EXPECT_EQ(scaler.scale_tensor().device().type(), at::kMeta);
}

TEST(GradScaler, AutogradGoesThroughScale) {
  const at::AutoGradMode grad(true);
  GradScaler scaler(at::kCPU, {.init_scale = 4});
  const at::Tensor weight = at::ones({}).requires_grad_();
  scaler.scale(weight * 3).backward();
  EXPECT_EQ(weight.grad().item<float>(), 12);
  EXPECT_FALSE(scaler.scale_tensor().requires_grad());
}

TEST(GradScaler, StagesOfOneStep) {
  GradScaler scaler = begun_at(4);
  CountingOptimizer optimizer({values({8})});
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kReady);
  EXPECT_EQ(scaler.found_inf_value(optimizer), std::nullopt);
  scaler.unscale_(optimizer);
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kUnscaled);
  EXPECT_EQ(error_of([&] { scaler.unscale_(optimizer); }),
            "unscale_() has already been called on this optimizer since the last update().");
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(optimizer.gradient().item<float>(), 2);  // unscaled once
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kStepped);
  EXPECT_EQ(error_of([&] { scaler.unscale_(optimizer); }), "unscale_() is being called after step().");
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }),
            "step() has already been called since the last update().");
  EXPECT_EQ(scaler.found_inf_value(optimizer), false);
  scaler.update();
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kReady);
  EXPECT_EQ(scaler.found_inf_value(optimizer), std::nullopt);
  EXPECT_EQ(optimizer.steps, 1);
}

TEST(GradScaler, TheInverseIsRoundedOnce) {
  GradScaler scaler = begun_at(3);
  CountingOptimizer optimizer({values({1}), at::ones({1}, at::kBFloat16), at::ones({1}, at::kDouble), {}});
  scaler.unscale_(optimizer);
  const float inverse = static_cast<float>(1.0 / 3.0);
  EXPECT_EQ(optimizer.gradient(0).item<float>(), inverse);
  EXPECT_EQ(optimizer.gradient(1).item<float>(), 0.333984375F);  // nearest bfloat16
  EXPECT_EQ(optimizer.gradient(2).item<double>(), static_cast<double>(inverse));
  EXPECT_FALSE(optimizer.gradient(3).defined());
}

TEST(GradScaler, Fp16GradientsAreRefusedBeforeAnyIsTouched) {
  GradScaler scaler = begun_at(4);
  const at::Tensor sparse =
      at::sparse_coo_tensor(at::zeros({1, 1}, at::kLong), at::ones({1}, at::kHalf), {3});
  for (const at::Tensor& half : {at::ones({2}, at::kHalf), sparse}) {
    CountingOptimizer optimizer({values({8}), half});
    EXPECT_EQ(error_of([&] { scaler.unscale_(optimizer); }), "Attempting to unscale FP16 gradients.");
    EXPECT_EQ(error_of([&] { scaler.step(optimizer); }), "Attempting to unscale FP16 gradients.");
    EXPECT_EQ(optimizer.gradient().item<float>(), 8);
    EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kReady);
    EXPECT_EQ(optimizer.steps, 0);
  }
}

TEST(GradScaler, DuplicatesInSparseGradientsAreNotSummed) {
  GradScaler scaler = begun_at(1);
  const at::Tensor sparse = at::sparse_coo_tensor(at::zeros({1, 2}, at::kLong), values({3e38F, 3e38F}), {3});
  CountingOptimizer optimizer({sparse});
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(optimizer.gradient().coalesce().values().item<float>(), kInfinity);
}

TEST(GradScaler, FinitenessIsTestedBeforeTheProduct) {
  GradScaler scaler = begun_at(0.5);
  CountingOptimizer optimizer({values({3e38F})});
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(optimizer.gradient().item<float>(), kInfinity);
}

TEST(GradScaler, EveryGradientIsUnscaledAlthoughOneIsNotFinite) {
  GradScaler scaler = begun_at(4);
  CountingOptimizer optimizer({values({kInfinity, 8}), values({8}), at::full({1}, 8, at::kBFloat16)});
  EXPECT_FALSE(scaler.step(optimizer));
  EXPECT_EQ(optimizer.gradient(0)[1].item<float>(), 2);
  EXPECT_EQ(optimizer.gradient(1).item<float>(), 2);
  EXPECT_EQ(optimizer.gradient(2).item<float>(), 2);
  EXPECT_EQ(optimizer.steps, 0);
  EXPECT_EQ(scaler.found_inf_value(optimizer), true);
  EXPECT_EQ(scaler.found_inf(optimizer).dim(), 0);
}

TEST(GradScaler, AnOptimizerWithoutGradientsCannotStep) {
  GradScaler scaler = begun();
  CountingOptimizer optimizer({at::Tensor()});
  const std::string missing = "No inf checks were recorded for this optimizer.";
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }), missing);
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kUnscaled);
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }), missing);
  EXPECT_EQ(error_of([&] { scaler.update(); }), "No inf checks were recorded prior to update.");
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kUnscaled);
  scaler.update(2.0);  // needs no inf check
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kReady);
}

TEST(GradScaler, AClosureIsAnErrorWhateverTheStage) {
  GradScaler scaler(at::kCPU);
  CountingOptimizer optimizer({values({1})});
  EXPECT_EQ(error_of([&] { scaler.step(optimizer, [] {}); }),
            "Closure use is not currently supported if GradScaler is enabled.");
  EXPECT_EQ(optimizer.steps, 0);
}

TEST(GradScaler, AnOptimizerThatThrowsStaysUnscaled) {
  struct Throwing : CountingOptimizer {
    using CountingOptimizer::CountingOptimizer;
    void step() override { throw std::logic_error("no"); }
  };
  GradScaler scaler = begun();
  Throwing optimizer({values({1})});
  EXPECT_THROW(scaler.step(optimizer), std::logic_error);
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kUnscaled);
}

TEST(GradScaler, ANewScaleLeavesTheTrackerAndClearsTheStages) {
  GradScaler scaler = begun();
  step_and_update(scaler, 1);
  CountingOptimizer optimizer({values({1})});
  scaler.unscale_(optimizer);
  for (const double scale : {0.0, -1.0, static_cast<double>(kInfinity), 0.1}) {
    scaler.update(scale);
    EXPECT_EQ(scaler.get_scale(), static_cast<float>(scale));
  }
  EXPECT_EQ(scaler.get_growth_tracker(), 1);
  EXPECT_EQ(scaler.stage(optimizer), GradScaler::Stage::kReady);

  scaler.update(at::full({}, 7, at::kLong));
  EXPECT_EQ(scaler.get_scale(), 7);
  EXPECT_THROW(scaler.update(at::ones({1})), c10::Error);
  const std::string refused =
      "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
      "requires_grad=False.";
  EXPECT_EQ(error_of([&] { scaler.update(at::ones({2})); }), refused);
  EXPECT_EQ(error_of([&] { scaler.update(at::ones({}, at::kMeta)); }), refused);
  EXPECT_EQ(error_of([&] { scaler.update(at::ones({}).requires_grad_()); }), refused);
  EXPECT_EQ(scaler.get_scale(), 7);
}

TEST(GradScaler, OneBadOptimizerBacksOffForAll) {
  GradScaler scaler = begun_at(16);
  CountingOptimizer good({values({1})});
  CountingOptimizer bad({values({kInfinity})});
  EXPECT_TRUE(scaler.step(good));
  scaler.unscale_(bad);  // never stepped
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 8);
  EXPECT_EQ(good.steps, 1);
}

TEST(GradScaler, GrowsWhenTheTrackerMeetsTheInterval) {
  GradScaler scaler =
      begun({.init_scale = 1, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 2});
  step_and_update(scaler, 1);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_EQ(scaler.get_growth_tracker(), 1);
  step_and_update(scaler, 1);
  EXPECT_EQ(scaler.get_scale(), 3);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);
  step_and_update(scaler, 1);
  step_and_update(scaler, kInfinity);
  EXPECT_EQ(scaler.get_scale(), 0.75);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);

  step_and_update(scaler, 1);
  scaler.set_growth_interval(1);  // below the tracker's next value: it is never met
  step_and_update(scaler, 1);
  step_and_update(scaler, 1);
  EXPECT_EQ(scaler.get_scale(), 0.75);
  EXPECT_EQ(scaler.get_growth_tracker(), 3);
}

TEST(GradScaler, FactorsAreMultipliedInDoubleAndRoundedOnce) {
  GradScaler scaler = begun({.init_scale = 3, .growth_factor = 1.1, .growth_interval = 1});
  step_and_update(scaler, 1);
  EXPECT_EQ(scaler.get_scale(), static_cast<float>(3 * 1.1));
}

TEST(GradScaler, DoesNotGrowBeyondFloat32) {
  GradScaler scaler = begun({.init_scale = 0x1p127, .growth_interval = 1});
  step_and_update(scaler, 1);
  EXPECT_EQ(scaler.get_scale(), 0x1p127);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);
}

TEST(GradScaler, CollapsesWithoutAWordAfter144Skips) {
  GradScaler scaler = begun();
  for (int i = 0; i < 144; ++i) step_and_update(scaler, kInfinity);
  EXPECT_EQ(scaler.get_scale(), 0x1p-128);
  CountingOptimizer optimizer({values({0})});
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_TRUE(std::isnan(optimizer.gradient().item<float>()));
  scaler.update();
  EXPECT_EQ(scaler.get_growth_tracker(), 1);
}

TEST(GradScaler, StateGoesOnWhereItWasSaved) {
  GradScaler scaler =
      begun({.init_scale = 8, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 2});
  step_and_update(scaler, 1);
  const GradScalerState saved = scaler.state_dict();

  GradScaler fresh(at::kCPU);
  fresh.load_state_dict(saved);
  EXPECT_EQ(fresh.get_growth_tracker(), 1);  // before the first scale, too
  fresh.scale(at::ones({}));
  GradScaler used = begun();
  CountingOptimizer optimizer({values({1})});
  used.unscale_(optimizer);
  used.load_state_dict(saved);
  EXPECT_EQ(used.stage(optimizer), GradScaler::Stage::kUnscaled);
  used.update(8.0);
  for (GradScaler* loaded : {&fresh, &used}) {
    step_and_update(*loaded, 1);
    EXPECT_EQ(loaded->get_scale(), 24);
    EXPECT_EQ(loaded->get_growth_interval(), 2);
    EXPECT_EQ(loaded->get_backoff_factor(), 0.25);
  }
}

TEST(GradScaler, AStateWithAMissingMemberIsLoadedUpToThere) {
  GradScaler scaler = begun();
  EXPECT_EQ(error_of([&] { scaler.load_state_dict({}); }),
            "The source state dict is empty, possibly because it was saved from a disabled instance of "
            "GradScaler.");
  GradScalerState state = {
      .scale = 4, .growth_factor = 0.5, .backoff_factor = 7, .growth_interval = {}, .growth_tracker = 5};
  EXPECT_EQ(error_of([&] { scaler.load_state_dict(state); }),
            "The source state dict has no 'growth_interval'.");
  EXPECT_EQ(scaler.get_scale(), 4);
  EXPECT_EQ(scaler.get_growth_factor(), 0.5);  // factors are not checked
  EXPECT_EQ(scaler.get_backoff_factor(), 7);
  EXPECT_EQ(scaler.get_growth_tracker(), 0);
}

TEST(GradScaler, AParameterInTwoOptimizersIsUnscaledTwice) {
  GradScaler scaler = begun_at(4);
  const at::Tensor shared = values({16});
  CountingOptimizer first({shared});
  CountingOptimizer second({shared});
  scaler.step(first);
  scaler.step(second);
  EXPECT_EQ(shared.item<float>(), 1);
}

}  // namespace
}  // namespace ampgate::precision
