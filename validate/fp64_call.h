// One operator call again, in FP64 on the CPU, on the values that its kernel took.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "validate/trace.h"

namespace ampgate::validate {

// Puts the value that a kernel takes for tensors of `type` in place of an argument that is not given and
// whose default depends on it: nan_to_num, the eps of rms_norm. Gives whether there was one.
bool fit_defaults(std::string_view name, c10::ScalarType type, torch::jit::Stack& arguments);

// A floating type that the case asks for by name would bring a run in FP64 down to it.
void ask_for_fp64(const c10::Argument& argument, c10::IValue& value);

// Tensors in the order of the record's inputs: floating ones rounded to the type that the kernel took and
// widened to FP64, all on the CPU.
std::vector<at::Tensor> seen_inputs(const CallView& view);

// The call's arguments with those tensors; types that it asks for by name and defaults that depend on a type
// fitted.
torch::jit::Stack fp64_arguments(const CallView& view);

// aten::scaled_dot_product_attention by its definition, and its probabilities. `arguments` are the
// operator's, in FP64. The fused kernel is another function: it turns a NaN query into 0, in FP64 too.
std::pair<at::Tensor, at::Tensor> attention_by_definition(const torch::jit::Stack& arguments);

// The outputs in FP64, in the order of the record's. None where that is another function (random numbers) or
// LibTorch cannot say (no FP64 kernel).
std::optional<std::vector<at::Tensor>> evaluate_fp64(const CallView& view);

}  // namespace ampgate::validate
