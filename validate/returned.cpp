#include "validate/returned.h"

#include <string>

#include "cases/shared_memory.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

// An integer or bool stays what it is in every precision; of floating types any will do.
std::string type_problem(const at::Tensor& output, const at::Tensor& expected) {
  const auto type = output.scalar_type();
  if (expected.is_floating_point()) {
    const bool known =
        type == at::kFloat || type == at::kHalf || type == at::kBFloat16 || type == at::kDouble;
    return known ? "" : std::string("has type ") + c10::toString(type) + " instead of a floating type";
  }
  if (type == expected.scalar_type()) return "";
  return std::string("has type ") + c10::toString(type) + " instead of " +
         c10::toString(expected.scalar_type());
}

std::string problem_of(const at::Tensor& output, c10::Device device) {
  if (!output.defined()) return "is undefined: the case returned no tensor";
  if (output.device().type() != device.type() || (device.has_index() && output.device() != device)) {
    return "is on device " + output.device().str() + ", the trial runs on " + device.str();
  }
  return output.layout() == at::kStrided ? "" : "is no dense tensor";
}

}  // namespace

void check_returned(const cases::Case& definition, const cases::Outputs& outputs, c10::Device device,
                    const cases::Outputs& like) {
  if (outputs.size() != definition.outputs.size()) {
    throw OutputError("the run returned " + std::to_string(outputs.size()) + " outputs, the case names " +
                      std::to_string(definition.outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string problem = problem_of(outputs[i], device);
    if (problem.empty() && i < like.size()) problem = type_problem(outputs[i], like[i]);
    if (problem.empty() && i < like.size() && outputs[i].sizes() != like[i].sizes()) {
      problem = "has sizes " + sizes_text(outputs[i].sizes()) + " instead of " + sizes_text(like[i].sizes());
    }
    if (!problem.empty()) throw OutputError("output " + definition.outputs[i] + " " + problem);
  }
}

void check_computed(const cases::Case& definition, const cases::Outputs& outputs, const cases::State& state) {
  if (definition.differentiates) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const auto& entry : state.tensors) {
      if (!cases::share_memory(outputs[i], entry.tensor)) continue;
      throw OutputError("output " + definition.outputs[i] + " is the memory of '" + entry.name +
                        "': the run computes nothing there");
    }
  }
}

}  // namespace ampgate::validate
