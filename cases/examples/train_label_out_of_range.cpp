// One label of the training data is 10, and there are ten classes: 0 to 9.
#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

State with_wrong_label(const Shape&, const Fill& fill) {
  State state = digits_state(fill, add_weights);
  state[kLabels][5] = 10;
  return state;
}

Case wrong() {
  Case definition = training("train_label_out_of_range", kSgd);
  definition.setup = with_wrong_label;
  return definition;
}

const Registration registration{wrong()};

}  // namespace
}  // namespace ampgate::cases::example
