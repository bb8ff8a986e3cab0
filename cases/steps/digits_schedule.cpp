// A learning rate that falls quickly, with the updates that were really made and not with the steps.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

const Registration registration{
    digits_step("train_digits_schedule",
                {
                    .optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9}},
                    .schedules = {{.optimizer = 0, .period = 5, .gamma = 0.9}},
                })};

}  // namespace
}  // namespace ampgate::cases
