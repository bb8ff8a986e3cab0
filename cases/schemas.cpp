#include "cases/schemas.h"

#include <algorithm>
#include <array>

namespace ampgate::cases {

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_view(const c10::Argument& result) {
  return result.alias_info() != nullptr && !result.alias_info()->isWrite();
}

bool returns_alias(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), is_view);
}

bool is_allocation(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name == "aten::resize_" ||
         name == "aten::set_";
}

bool takes_no_values(std::string_view name, std::size_t argument) {
  constexpr std::array<std::string_view, 15> kOfFirst{
      "zeros_like", "ones_like",         "full_like", "empty_like", "rand_like",
      "randn_like", "randint_like",      "new_zeros", "new_ones",   "new_full",
      "new_empty",  "new_empty_strided", "size",      "numel",      "dim"};
  constexpr std::array<std::string_view, 5> kOfSecond{"expand_as", "view_as", "reshape_as", "type_as",
                                                      "resize_as_"};
  name.remove_prefix(std::min(name.size(), name.find("::") + 2));
  const auto in = [name](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return argument == 0 ? in(kOfFirst) : argument == 1 && in(kOfSecond);
}

bool reaches_beyond(std::string_view name) {
  constexpr std::array<std::string_view, 4> kBeyond{"aten::save", "aten::from_file", "prim::PythonOp",
                                                    "aten::manual_seed"};
  return std::find(kBeyond.begin(), kBeyond.end(), name) != kBeyond.end();
}

}  // namespace ampgate::cases
