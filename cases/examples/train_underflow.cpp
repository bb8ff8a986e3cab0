// A loss in units that make it tiny: without a scaler nearly all gradients are below what FP16 holds and
// become zero. With one they come through, and BF16 needs none.
#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

constexpr double kUnit = 1e-6;

at::Tensor loss(State& state) { return cross_entropy(state) * kUnit; }

constexpr OptimizerSpec kOptimizer{
    .kind = OptimizerKind::kSgd, .learning_rate = 0.1 / kUnit, .momentum = 0.9};

const Registration registration{training("train_underflow", kOptimizer, loss)};

}  // namespace
}  // namespace ampgate::cases::example
