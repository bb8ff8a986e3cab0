#include "cases/execute.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace ampgate::cases {
namespace {

State example() {
  return {{{"x", at::arange(6, at::kFloat).view({2, 3}) + 0.1f}, {"index", at::arange(3, at::kLong)}}};
}

TEST(Prepare, ConvertsFloatingTensorsForCastAlone) {
  const State original = example();
  for (const auto& precision : precision::all()) {
    const State state = prepare(original, precision, at::kCPU);
    const bool cast = precision.mode == precision::Mode::kCast;
    EXPECT_EQ(state[0].scalar_type(), cast ? precision.type : at::kFloat) << precision.name;
    EXPECT_EQ(state[1].scalar_type(), at::kLong) << precision.name;
    EXPECT_TRUE(at::equal(state[0], original[0].to(state[0].scalar_type()))) << precision.name;
    EXPECT_TRUE(at::equal(state[1], original[1])) << precision.name;
  }
}

TEST(Prepare, CopiesAndTakesGradientsOff) {
  State original = example();
  original.tensors[0].tensor.requires_grad_();
  const State state = prepare(original, precision::baseline(), at::kCPU);
  EXPECT_FALSE(state[0].requires_grad());
  EXPECT_FALSE(state[0].is_alias_of(original[0]));
  EXPECT_FALSE(state[1].is_alias_of(original[1]));
}

TEST(Prepare, KeepsTheOrderInMemory) {
  const at::Tensor wide = at::zeros({2, 3, 2});
  const State original{{{"strided", wide.select(-1, 0)},
                        {"transposed", at::rand({4, 5}).t()},
                        {"expanded", at::rand({1, 3}).expand({2, 3})}}};
  const State state = prepare(original, precision::find("cast-bf16"), at::kCPU);
  EXPECT_EQ(state[0].strides(), at::IntArrayRef({6, 2}));
  // Whoever reads between the elements must see it.
  EXPECT_TRUE(at::isnan(state[0].as_strided({5}, {2}, 1)).all().item<bool>());
  EXPECT_EQ(state[1].strides(), at::IntArrayRef({1, 5}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(state[i], original[i].to(at::kBFloat16)));
}

TEST(Converted, LeavesIntegersAlone) {
  const State state = converted(example(), at::kDouble);
  EXPECT_EQ(state[0].scalar_type(), at::kDouble);
  EXPECT_EQ(state[0][0][1].item<double>(), static_cast<double>(1.1f));
  EXPECT_EQ(state[1].scalar_type(), at::kLong);
}

TEST(Execute, RunsUnderAutocastOnlyWhereAsked) {
  Case definition;
  definition.run = [](State& state) -> Outputs { return {at::matmul(state[0], state[0].t())}; };
  const at::NoGradGuard no_grad;
  for (const auto& precision : precision::all()) {
    State state = prepare(example(), precision, at::kCPU);
    const Outputs outputs = execute(definition, state, precision, at::kCPU);
    const bool low = precision.mode != precision::Mode::kNative;
    EXPECT_EQ(outputs[0].scalar_type(), low ? precision.type : at::kFloat) << precision.name;
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU)) << precision.name;
  }
}

// Two rows of three floats and three int64 indices read, an output of 16 bit; then half of the first tensor.
TEST(LeastBytes, CountsWhatIsReadAndTheOutputs) {
  const Outputs outputs{at::empty({5}, at::kHalf)};
  EXPECT_EQ(least_bytes(Facts{}, example(), outputs), 24 + 24 + 10);
  const Facts partial{.elements_read = {{0, 3.0}}};
  EXPECT_EQ(least_bytes(partial, example(), outputs), 12 + 24 + 10);
  const State halves = prepare(example(), precision::find("cast-bf16"), at::kCPU);
  EXPECT_EQ(least_bytes(partial, halves, outputs), 6 + 24 + 10);
}

}  // namespace
}  // namespace ampgate::cases
