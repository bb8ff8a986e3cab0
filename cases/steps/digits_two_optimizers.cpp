// Two optimizers that share one scaler: where one finds infinities, the scale of both backs off.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

const Registration registration{digits_step(
    "train_digits_two_optimizers",
    {
        .optimizers =
            {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9, .parameters = {"conv"}},
             {.kind = OptimizerKind::kAdamW, .learning_rate = 5e-3, .parameters = {"fc"}}},
        .schedules = {falling(0), falling(1)},
    })};

}  // namespace
}  // namespace ampgate::cases
