#include "cases/case.h"

#include <stdexcept>

namespace ampgate::cases {
namespace {

std::map<std::string, Case, std::less<>>& mutable_registry() {
  static std::map<std::string, Case, std::less<>> cases;
  return cases;
}

}  // namespace

std::int64_t Shape::operator[](std::string_view dim) const {
  for (const auto& [key, size] : dims) {
    if (key == dim) return size;
  }
  throw std::out_of_range("shape " + name + " has no dimension '" + std::string(dim) + "'");
}

double Shape::product(std::initializer_list<std::string_view> names) const {
  double result = 1.0;
  for (const auto dim : names) result *= static_cast<double>((*this)[dim]);
  return result;
}

const at::Tensor* State::find(std::string_view name) const {
  for (const auto& entry : tensors) {
    if (entry.is_called(name)) return &entry.tensor;
  }
  return nullptr;
}

Shape Case::shape(const std::vector<std::int64_t>& sizes) const {
  if (sizes.size() != dims.size()) {
    throw std::invalid_argument("case " + name + " takes " + std::to_string(dims.size()) +
                                " dimensions, not " + std::to_string(sizes.size()));
  }
  Shape result{shape_prefix, {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1)
      throw std::invalid_argument("case " + name + ": dimension " + dims[i] + " must be at least 1");
    result.name += (i == 0 ? "" : "x") + std::to_string(sizes[i]);
    result.dims.emplace_back(dims[i], sizes[i]);
  }
  return result;
}

const std::map<std::string, Case, std::less<>>& registry() { return mutable_registry(); }

Registration::Registration(Case definition) { add_case(std::move(definition)); }

void add_case(Case definition) {
  const std::string name = definition.name;
  if (!mutable_registry().emplace(name, std::move(definition)).second) {
    throw std::logic_error("two cases are called '" + name + "'");
  }
}

}  // namespace ampgate::cases
