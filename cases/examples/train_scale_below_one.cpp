// A loss in units that make it huge: its gradients overflow FP16 until the scale has fallen far below 1.
// Training goes on from there.
#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

constexpr double kUnit = 1e7;

at::Tensor loss(State& state) { return cross_entropy(state) * kUnit; }

constexpr OptimizerSpec kOptimizer{
    .kind = OptimizerKind::kSgd, .learning_rate = 0.1 / kUnit, .momentum = 0.9};

const Registration registration{training("train_scale_below_one", kOptimizer, loss)};

}  // namespace
}  // namespace ampgate::cases::example
