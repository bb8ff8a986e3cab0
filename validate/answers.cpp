#include "validate/answers.h"

namespace ampgate::validate {

std::vector<at::Tensor> output_of(const std::vector<cases::Outputs>& runs, std::size_t output) {
  std::vector<at::Tensor> tensors;
  for (const auto& run : runs) tensors.push_back(run[output]);
  return tensors;
}

}  // namespace ampgate::validate
