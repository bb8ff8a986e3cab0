#include "validate/selftest/call.h"

#include <ATen/core/stack.h>

#include <utility>

#include "precision/formats.h"
#include "precision/region.h"
#include "validate/call_tensors.h"

namespace ampgate::validate::selftest {
namespace {

// An operator of another namespace is not the one of LibTorch that the table may know by the same word.
std::string name_in_table(const std::string& name) {
  constexpr std::string_view kLibTorch = "aten::";
  return name.starts_with(kLibTorch) ? name.substr(kLibTorch.size()) : name;
}

at::Tensor call_boxed(const c10::OperatorHandle& op, const Arguments& arguments) {
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  op.callBoxed(stack);
  return stack.front().toTensor();
}

}  // namespace

Call::Call(const c10::OperatorHandle& op, Arguments arguments, std::int64_t run, std::uint64_t seed)
    : op_(op),
      name_(name_in_table(op.schema().name())),
      arguments_(std::move(arguments)),
      run_(run),
      seed_(seed) {}

const at::Tensor& Call::right() {
  if (!right_.defined()) right_ = with(arguments_);
  return right_;
}

std::optional<std::size_t> Call::find(std::string_view argument) const {
  const auto index = op_.schema().argumentIndexWithName(argument);
  if (!index) return {};
  return static_cast<std::size_t>(*index);
}

std::vector<std::size_t> Call::floating() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (is_floating(arguments_[i])) found.push_back(i);
  }
  return found;
}

at::Tensor Call::with(const Arguments& arguments) const { return call_boxed(op_, arguments); }

Arguments Call::seen() {
  const bool lowered = type() != at::kFloat;
  Arguments result = arguments_;
  for (const std::size_t i : floating()) {
    at::Tensor tensor = result[i].toTensor();
    if (lowered && tensor.scalar_type() == at::kFloat) tensor = tensor.to(type());
    result[i] = tensor.to(at::kDouble);
  }
  return result;
}

at::Tensor Call::in_fp64(const Arguments& seen) const {
  const precision::NoAutocast off;
  return call_boxed(op_, seen);
}

at::Tensor Call::exact(const std::function<void(Arguments&)>& change) {
  Arguments changed = seen();
  change(changed);
  return precision::round_tensor(in_fp64(changed).cpu(), type()).to(right().device());
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15 + b + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace ampgate::validate::selftest
