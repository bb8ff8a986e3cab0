// A learning rate a thousand times too high: training diverges, in every precision.
#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

constexpr OptimizerSpec kOptimizer{.kind = OptimizerKind::kSgd, .learning_rate = 100, .momentum = 0.9};

const Registration registration{training("train_learning_rate", kOptimizer)};

}  // namespace
}  // namespace ampgate::cases::example
