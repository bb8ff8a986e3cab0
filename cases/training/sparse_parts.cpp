#include "cases/training/sparse_parts.h"

#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sparse_coo_tensor.h>

#include <stdexcept>

namespace ampgate::cases {
namespace {

constexpr const char* kIndices = ".indices";
constexpr const char* kValues = ".values";
constexpr const char* kCoalesced = ".coalesced";

}  // namespace

void put_parts(NamedTensors& tensors, const std::string& name, const at::Tensor& tensor) {
  if (!tensor.is_sparse()) {
    tensors[name] = tensor.clone();
    return;
  }
  tensors[name + kIndices] = tensor._indices().clone();
  tensors[name + kValues] = tensor._values().clone();
  tensors[name + kCoalesced] = at::scalar_tensor(tensor.is_coalesced(), at::kBool);
}

at::Tensor take_parts(const NamedTensors& tensors, const std::string& name, at::IntArrayRef sizes) {
  const auto names = part_names(tensors, name);
  if (names.empty()) return {};
  if (names.size() == 1) return tensors.at(names[0]);
  const at::Tensor& coalesced = tensors.at(name + kCoalesced);
  if (coalesced.scalar_type() != at::kBool || coalesced.numel() != 1)
    throw std::invalid_argument("tensor '" + name + kCoalesced + "' must be one truth value");
  const at::Tensor &indices = tensors.at(name + kIndices), &values = tensors.at(name + kValues);
  try {
    at::_validate_sparse_coo_tensor_args(indices, values, sizes, coalesced.item<bool>());
    return at::sparse_coo_tensor(indices, values, sizes, values.options().layout(at::kSparse),
                                 coalesced.item<bool>())
        .clone();
  } catch (const c10::Error& error) {
    throw std::invalid_argument("tensor '" + name +
                                "' is no sparse tensor: " + error.what_without_backtrace());
  }
}

std::vector<std::string> part_names(const NamedTensors& tensors, const std::string& name) {
  if (tensors.count(name) != 0) return {name};
  const std::vector<std::string> names{name + kIndices, name + kValues, name + kCoalesced};
  for (const auto& part : names) {
    if (tensors.count(part) == 0) return {};
  }
  return names;
}

}  // namespace ampgate::cases
