#include "cases/operator_call.h"

#include <ATen/core/List.h>
#include <c10/util/Exception.h>

namespace ampgate::cases {
namespace {

using Kind = ArgumentSource::Kind;

c10::Device device_of(const State& state) {
  return state.tensors.empty() ? c10::Device(c10::kCPU) : state.tensors.front().tensor.device();
}

}  // namespace

c10::IValue value_of(const ArgumentSource& source, const State& state, const Results& results) {
  switch (source.kind) {
    case Kind::kConstant:
    case Kind::kType:
      return source.constant;
    case Kind::kTensor:
      return state[source.number];
    case Kind::kResult:
      return results[source.number];
    case Kind::kItem: {
      const auto list = results[source.number].toTensorList();
      TORCH_CHECK(source.item < list.size(), "item ", source.item, " of a list of ", list.size(), " tensors");
      return list.get(source.item);
    }
    case Kind::kTensors: {
      c10::List<at::Tensor> list;
      list.reserve(source.items.size());
      for (const auto& item : source.items) list.push_back(value_of(item, state, results).toTensor());
      return list;
    }
    case Kind::kOptionalTensors: {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(source.items.size());
      for (const auto& item : source.items) {
        list.push_back(value_of(item, state, results).toOptional<at::Tensor>());
      }
      return list;
    }
    case Kind::kDevice:
      return device_of(state);
  }
  return {};
}

void OperatorCall::push_arguments(const State& state, const Results& results,
                                  torch::jit::Stack& stack) const {
  stack.reserve(stack.size() + arguments_.size());
  for (const auto& source : arguments_) stack.push_back(value_of(source, state, results));
}

}  // namespace ampgate::cases
