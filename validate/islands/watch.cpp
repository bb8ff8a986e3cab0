#include "validate/islands/watch.h"

#include <algorithm>

#include "precision/region.h"
#include "validate/finite.h"

namespace ampgate::validate {
namespace {

template <typename Function>
void for_each_tensor(const c10::IValue& value, Function&& function) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) function(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) function(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList()) {
      if (tensor && tensor->defined()) function(*tensor);
    }
  }
}

}  // namespace

void Watch::call(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  bool finite_before = true;
  const std::size_t arguments = op.schema().arguments().size();
  for (std::size_t i = stack.size() - arguments; i < stack.size(); ++i) {
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
      finite_before = finite_before && scan_finite(tensor).finite();
    });
  }
  WatchedCall watched{op.schema().name(), precision::region_path()};
  op.callBoxed(stack);
  bool finite_after = true;
  for (std::size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i) {
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
      const FiniteScan scan = scan_finite(tensor);
      finite_after = finite_after && scan.finite();
      if (tensor.scalar_type() == type_) largest_ = std::max(largest_, scan.largest);
    });
  }
  watched.turned_nonfinite = finite_before && !finite_after;
  calls_.push_back(std::move(watched));
}

}  // namespace ampgate::validate
