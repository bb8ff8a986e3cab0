// Four micro-batches whose gradients add up to one effective batch, unscaled and clipped when it is complete.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

const Registration registration{
    digits_step("train_digits_accumulation",
                {
                    .optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9}},
                    .micro_batches = 4,
                    .clip_norm = 1.0,
                    .schedules = {falling(0)},
                })};

}  // namespace
}  // namespace ampgate::cases
