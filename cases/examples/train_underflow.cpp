// A loss in units that make it tiny: without a scaler nearly all gradients are below what FP16 holds and
// become zero. With one they come through, and BF16 needs none.
#include "cases/examples/training_example.h"

namespace ampgate::cases {
namespace {

constexpr double kUnit = 1e-6;

at::Tensor loss(State& state) { return cross_entropy(state) * kUnit; }

const Registration registration{training_example(
    "train_underflow",
    {.optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1 / kUnit, .momentum = 0.9}},
     .schedules = {falling(0)}},
    loss)};

}  // namespace
}  // namespace ampgate::cases
