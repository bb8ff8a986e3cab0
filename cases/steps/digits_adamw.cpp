// AdamW: moments whose squares are far below what FP16 holds.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

const Registration registration{digits_step(
    "train_digits_adamw",
    {
        .optimizers = {{.kind = OptimizerKind::kAdamW, .learning_rate = 5e-3, .weight_decay = 0.01}},
        .schedules = {falling(0)},
    })};

}  // namespace
}  // namespace ampgate::cases
