// Gradients clipped to a norm, after they are unscaled.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

const Registration registration{
    digits_step("train_digits_clipping",
                {
                    .optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9}},
                    .clip_norm = 0.5,
                    .schedules = {falling(0)},
                })};

}  // namespace
}  // namespace ampgate::cases
