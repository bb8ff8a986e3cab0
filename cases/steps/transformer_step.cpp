// One encoder block that learns to add the sum of all positions to each: without attention it cannot.
#include <ATen/ops/mse_loss.h>

#include "cases/case.h"
#include "cases/fills.h"
#include "cases/models/transformer.h"

namespace ampgate::cases {
namespace {

constexpr std::int64_t kSamples = 256, kHeldOut = 64;

enum : std::size_t { kTarget = transformer::kTensors };

// x plus the sum of its positions over 4, so that both parts weigh alike for 16 of them. In FP64 the sum is
// exact, since all values are multiples of one power of two: every machine gets the same bits.
at::Tensor with_sum(const at::Tensor& x) {
  const at::Tensor exact = x.to(at::kDouble);
  return (exact + exact.sum(1, /*keepdim=*/true) / 4).to(at::kFloat);
}

State setup(const Shape& shape, const Fill& fill) {
  const auto sequences = [&](const char* name, std::int64_t count) {
    return fill.normal(name, {count, shape["length"], shape["width"]});
  };
  const at::Tensor x = sequences("x", kSamples), held_out = sequences("held_out_x", kHeldOut);
  State state{{{"x", x}}};
  transformer::add_weights(state, fill, shape["width"]);
  state.tensors.push_back({"target", with_sum(x)});
  state.tensors.push_back({"held_out_x", held_out});
  state.tensors.push_back({"held_out_target", with_sum(held_out)});
  return state;
}

Outputs block(State& state) { return transformer::block<transformer::fused_attention>(state); }

at::Tensor loss(State& state) { return at::mse_loss(block(state)[0], state[kTarget]); }

// Forward, and backward to weights and inputs.
Facts facts(const Shape& shape) {
  return {.flops = 3 * 2.0 * transformer::products(shape),
          .bound = {.family = Family::kModel},
          .meaning = Meaning::kRegression,
          .targets = "target"};
}

const Registration registration{{
    .name = "train_transformer",
    .dims = {"batch", "length", "width"},
    .suites = {{"training", {{16, 16, 64}}}, {"standard", {{16, 16, 64}}}, {"large", {{16, 512, 512}}}},
    .outputs = {"out"},
    .setup = setup,
    .run = block,
    .facts = facts,
    .model = true,
    .misfit = transformer::misfit,
    .training =
        Training{.loss = loss,
                 .optimizers = {{.kind = OptimizerKind::kAdamW, .learning_rate = 3e-3, .weight_decay = 0.01}},
                 .rows = {{"x", "held_out_x"}, {"target", "held_out_target"}}},
}};

}  // namespace
}  // namespace ampgate::cases
