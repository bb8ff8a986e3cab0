// One call of an operator with one floating result, as a faulty kernel sees it: its arguments, the right
// result, and the operator in FP64 with other arguments.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ampgate::validate::selftest {

using Arguments = std::vector<c10::IValue>;

class Call {
 public:
  // `run`: which run of the case this is in its trial, from 0. The operator's handle outlives the object.
  Call(const c10::OperatorHandle& op, Arguments arguments, std::int64_t run, std::uint64_t seed);

  const std::string& name() const { return name_; }  // "linear"; with namespace where that is not aten
  const Arguments& arguments() const { return arguments_; }
  std::int64_t run() const { return run_; }
  std::uint64_t seed() const { return seed_; }

  // The operator's own result; computed once.
  const at::Tensor& right();
  c10::ScalarType type() { return right().scalar_type(); }

  // The number of the argument of that name; none when the operator has no such argument.
  std::optional<std::size_t> find(std::string_view argument) const;
  // Numbers of the floating tensors among the arguments.
  std::vector<std::size_t> floating() const;

  // The operator as it is, on other arguments.
  at::Tensor with(const Arguments& arguments) const;
  // Its arguments with floating tensors as the kernel sees them (autocast rounds them to the result's type)
  // in FP64.
  Arguments seen();
  // The operator in FP64, without autocast.
  at::Tensor in_fp64(const Arguments& seen) const;
  // The operator in FP64 after `change`, rounded once to the result's type: a kernel that is exact but for
  // the change.
  at::Tensor exact(const std::function<void(Arguments&)>& change);

 private:
  const c10::OperatorHandle& op_;
  std::string name_;
  Arguments arguments_;
  std::int64_t run_;
  std::uint64_t seed_;
  at::Tensor right_;
};

// A faulty kernel: its result; an undefined tensor where the fault does not exist in this call (no bias to
// ignore).
using Kernel = std::function<at::Tensor(Call&)>;

// Well mixed bits from two numbers.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

}  // namespace ampgate::validate::selftest
