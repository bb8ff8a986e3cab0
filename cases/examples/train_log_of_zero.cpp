// A cross entropy made by hand, as the logarithm of a probability: one that is rounded to zero makes the loss
// infinite, in FP32 as well. log_softmax would not.
#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

constexpr double kSharpness = 1000.0;

at::Tensor loss(State& state) {
  const at::Tensor probabilities = (scores(state)[0] * kSharpness).softmax(1);
  return -probabilities.gather(1, state[kLabels].unsqueeze(1)).log().mean();
}

const Registration registration{training("train_log_of_zero", kSgd, loss)};

}  // namespace
}  // namespace ampgate::cases::example
