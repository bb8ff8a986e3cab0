// What a case file says of a model's answers, whatever kind of model it is: what its outputs mean, the
// decisions made by them, right answers, and the least quality that is accepted.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/files/document.h"

namespace ampgate::cases::files {

// Tensors of the case that the model gets (`inputs`, by argument) and those that it never sees (`data`).
struct ModelTensor {
  std::string name;
  TensorSpec spec;
};

// {"x": {tensor}, ...} of `member`, in the file's order; none where it is absent.
std::vector<ModelTensor> read_tensors(const Document& document, const std::string& member);

struct ModelFacts {
  Facts facts;
  std::optional<double> minimum_accuracy{};
  std::optional<double> maximum_rmse{};
};

// "meaning", "decisions", "targets", "target_output", "minimum_accuracy", "maximum_rmse", "flops", "reads",
// "rows_independent". `tensors`: inputs, then data from number `first_data` on. Throws results::FileError.
ModelFacts read_model_facts(const Document& document, const std::vector<std::string>& outputs,
                            const std::vector<ModelTensor>& tensors, std::size_t first_data);

}  // namespace ampgate::cases::files
