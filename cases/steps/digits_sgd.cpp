// Stochastic gradient descent with momentum.
#include "cases/steps/digits_step.h"

namespace ampgate::cases {
namespace {

Case in_standard(Case definition) {
  definition.suites.push_back({"standard", definition.suites.front().shapes});
  return definition;
}

const Registration registration{in_standard(
    digits_step("train_digits_sgd",
                {
                    .optimizers = {{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9}},
                    .schedules = {falling(0)},
                }))};

}  // namespace
}  // namespace ampgate::cases
