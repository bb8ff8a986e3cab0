#include "validate/roundings.h"

#include <algorithm>
#include <array>

#include "validate/accumulation.h"
#include "validate/local/adapter.h"

namespace ampgate::validate {
namespace {

constexpr std::array<std::string_view, 45> kExact{"abs",         "adaptive_max_pool2d",
                                                  "amax",        "amin",
                                                  "cat",         "chunk",
                                                  "clamp",       "clamp_min",
                                                  "clone",       "constant_pad_nd",
                                                  "contiguous",  "copy_",
                                                  "dropout",     "embedding",
                                                  "expand",      "flatten",
                                                  "flip",        "gather",
                                                  "hardtanh",    "index_select",
                                                  "masked_fill", "max",
                                                  "max_pool1d",  "max_pool2d",
                                                  "maximum",     "min",
                                                  "minimum",     "neg",
                                                  "pad",         "permute",
                                                  "relu",        "relu_",
                                                  "repeat",      "reshape",
                                                  "roll",        "sort",
                                                  "squeeze",     "stack",
                                                  "t",           "to",
                                                  "topk",        "transpose",
                                                  "type_as",     "where",
                                                  "_to_copy"};

// One rounding in FP32 and no more: everything else takes several steps from its arguments to its result.
constexpr std::array<std::string_view, 10> kOneStep{"add",  "add_", "sub",  "sub_", "mul",
                                                    "mul_", "div",  "div_", "sqrt", "sqrt_"};

std::string_view without_namespace(std::string_view name) {
  const auto colons = name.find("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace

bool moves_values(std::string_view operator_name) {
  return std::find(kExact.begin(), kExact.end(), without_namespace(operator_name)) != kExact.end();
}

bool takes_steps(const c10::OperatorHandle& op) {
  const std::string_view name = op.schema().name();
  if (moves_values(name) || adds_up(op)) return false;
  return std::find(kOneStep.begin(), kOneStep.end(), without_namespace(name)) == kOneStep.end();
}

bool is_libtorchs(const c10::OperatorHandle& op) { return op.schema().name().starts_with("aten::"); }

bool is_known_as_a_whole(const c10::OperatorHandle& op) {
  const std::string_view name = op.schema().name();
  return moves_values(name) || local::adapter_of(name) != nullptr;
}

bool made_of_parts(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  // A kernel of its own comes before what is there for whatever lacks one.
  const bool composite = !op.hasKernelForDispatchKey(DispatchKey::CPU) &&
                         (op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) ||
                          op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd));
  return is_libtorchs(op) && composite && !is_known_as_a_whole(op);
}

}  // namespace ampgate::validate
