// A learning rate a thousand times too high: training diverges until nothing is finite, in every precision.
#include "cases/examples/training_example.h"

namespace ampgate::cases {
namespace {

const Registration registration{
    training_example("train_learning_rate",
                     {.optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 100, .momentum = 0.9}}})};

}  // namespace
}  // namespace ampgate::cases
