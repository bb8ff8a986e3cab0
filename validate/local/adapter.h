// From a dispatcher call to what an error bound needs: named FP64 tensors, the family, and the function in
// FP64. One file a group of operators; `adapters.cpp` looks them up by name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "validate/fp64_call.h"

namespace ampgate::validate::local {

struct LocalProblem {
  cases::BoundSpec spec;
  cases::State state;  // FP64, as the kernel took the values
  std::function<cases::Outputs(const cases::State&)> evaluate;
  std::vector<at::Tensor> actual;  // what the call gave, in the sizes of `evaluate`'s outputs
  // Along it the outputs can be computed in part, when they are many.
  std::optional<cases::IndependentAxis> independent{};
};

// The arguments of a call by position, in FP64.
class LocalCall {
 public:
  // With numbers among the arguments (alpha, a scalar operand) as they stand, or rounded to a type
  // (numbers.h).
  explicit LocalCall(const CallView& view, std::optional<c10::ScalarType> numbers = {});

  bool is_tensor(std::size_t i) const { return i < arguments.size() && arguments[i].isTensor(); }
  const at::Tensor& tensor(std::size_t i) const { return arguments.at(i).toTensor(); }
  std::optional<double> number(std::size_t i) const;
  // Position of the argument of that name; the schemas of in-place and out forms agree in names.
  std::optional<std::size_t> find(std::string_view name) const;
  c10::ScalarType output_type() const { return view.outputs.at(0).scalar_type(); }
  bool output_is_16_bit() const;

  // A problem whose function is the operator itself: state tensor i stands for the argument `positions[i]`.
  // Undefined and absent tensors are left out of the state.
  LocalProblem of_itself(cases::BoundSpec spec,
                         const std::vector<std::pair<std::string, std::size_t>>& positions) const;

  // The same for an operator that nobody knows: all its tensors, and all its floating results. None where
  // FP64 is another function or cannot be computed.
  std::optional<LocalProblem> as_unknown(cases::BoundSpec spec) const;

  const CallView& view;
  torch::jit::Stack arguments;
};

// None when the call is a form of the operator that the adapter does not know.
using Adapter = std::optional<LocalProblem> (*)(const LocalCall&);
using Adapters = std::map<std::string, Adapter, std::less<>>;

void add_products(Adapters& adapters);
void add_convolutions(Adapters& adapters);
void add_norms(Adapters& adapters);
void add_softmax(Adapters& adapters);
void add_elementwise(Adapters& adapters);
void add_reductions(Adapters& adapters);
void add_attention(Adapters& adapters);
void add_exact(Adapters& adapters);
void add_interpolation(Adapters& adapters);

// Null when no adapter knows the operator: `aten::add_` is looked up as `add`.
Adapter adapter_of(std::string_view operator_name);

}  // namespace ampgate::validate::local
