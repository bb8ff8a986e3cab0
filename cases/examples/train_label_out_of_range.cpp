// One label of the training data is 10, and there are ten classes: 0 to 9.
#include "cases/examples/training_example.h"

namespace ampgate::cases {
namespace {

Case example() {
  Case definition = training_example("train_label_out_of_range", {.optimizers = {kExampleSgd}});
  definition.setup = [right = definition.setup](const Shape& shape, const Fill& fill) {
    State state = right(shape, fill);
    at::Tensor labels = state[digits::kLabels].clone();
    labels[5] = 10;
    state.tensors[digits::kLabels].tensor = labels;
    return state;
  };
  return definition;
}

const Registration registration{example()};

}  // namespace
}  // namespace ampgate::cases
