// Faults that depend on the call: what happened before, and what is left behind.
#include <ATen/ATen.h>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

at::Tensor first_element(at::Tensor tensor) {
  while (tensor.dim() > 0) tensor = tensor.select(0, 0);
  return tensor;
}

at::Tensor inputs_overwritten(Call& call) {
  at::Tensor result = call.right();
  for (const std::size_t i : call.floating()) {
    if (call.arguments()[i].toTensor().numel() > 0) first_element(call.arguments()[i].toTensor()).add_(1.0);
  }
  return result;
}

// One element is twice as large in the runs that `hits` names.
Kernel sometimes(bool (*hits)(Call&)) {
  return [hits](Call& call) -> at::Tensor {
    at::Tensor result = copy_of(call.right());
    if (result.numel() > 0 && hits(call)) result.flatten().select(0, typical_element(call)).mul_(2.0);
    return result;
  };
}

}  // namespace

void add_call_faults(Faults& faults) {
  faults["inputs-overwritten"] = {inputs_overwritten, Hits::kAll};
  faults["race"] = {sometimes([](Call& call) {
                      return mixed(call.seed(), static_cast<std::uint64_t>(call.run())) % 10 == 0;
                    }),
                    Hits::kOne};
  faults["after-first-call"] = {sometimes([](Call& call) { return call.run() > 0; }), Hits::kOne};
  faults["after-1000-calls"] = {sometimes([](Call& call) { return call.run() >= 1000; }), Hits::kOne};
}

}  // namespace ampgate::validate::selftest
