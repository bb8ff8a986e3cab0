// One call of an operator that the dispatcher knows, with its arguments boxed: what a case file's `operator`
// becomes. Arguments stand ready, so that a call costs little more than the operator itself.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <vector>

#include "cases/case.h"

namespace ampgate::cases {

// Where the value of an argument comes from, or of an item of a list of tensors.
struct ArgumentSource {
  enum class Kind {
    kConstant,  // `constant`
    kType,      // the same: a type of numbers that the caller asked for
    kTensor,    // the state's tensor number `number`
    kResult,    // result number `number` of an earlier call
    kItem,      // item `item` of such a result, which is a list
    kTensors,   // a list of `items`
    kOptionalTensors,
    kDevice,  // that of the run
  };
  Kind kind = Kind::kConstant;
  c10::IValue constant{};
  std::size_t number = 0;
  std::size_t item = 0;
  std::vector<ArgumentSource> items{};
};

using Results = c10::SmallVector<c10::IValue, 4>;

// The value in a run on `state` after calls that gave `results`.
c10::IValue value_of(const ArgumentSource& source, const State& state, const Results& results);

class OperatorCall {
 public:
  OperatorCall(c10::OperatorHandle op, std::vector<ArgumentSource> arguments)
      : op_(std::move(op)), arguments_(std::move(arguments)) {}

  const c10::OperatorHandle& op() const { return op_; }
  const std::vector<ArgumentSource>& arguments() const { return arguments_; }

  // All arguments, as value_of gives them.
  void push_arguments(const State& state, const Results& results, torch::jit::Stack& stack) const;

 private:
  c10::OperatorHandle op_;
  std::vector<ArgumentSource> arguments_;
};

}  // namespace ampgate::cases
