// A loss in units that make it huge: its gradients overflow FP16 until the scale has fallen far below 1.
// Training goes on from there.
#include "cases/examples/training_example.h"

namespace ampgate::cases {
namespace {

constexpr double kUnit = 1e7;

at::Tensor loss(State& state) { return cross_entropy(state) * kUnit; }

const Registration registration{training_example(
    "train_scale_below_one",
    {.optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1 / kUnit, .momentum = 0.9}},
     .schedules = {falling(0)}},
    loss)};

}  // namespace
}  // namespace ampgate::cases
