// Integer and bool outputs: equal or not, counted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "results/json.h"
#include "validate/judgement.h"

namespace ampgate::validate {

struct ExactComparison {
  std::int64_t elements = 0;
  std::int64_t differ = 0;
  std::int64_t unexplained = 0;          // of those that differ
  std::vector<std::int64_t> position{};  // of the first that is unexplained, else of the first that differs
  std::int64_t expected = 0;
  std::int64_t actual = 0;
};

// Both of one integer or bool type and the same sizes, on any device. `varies` (bool, of the same sizes; may
// be undefined) says where rounding changes the right result as well: differences there are explained.
ExactComparison compare_exactly(const at::Tensor& actual, const at::Tensor& oracle, const at::Tensor& varies);

// `inaccurate` for what is not explained, a finding for what is.
void judge_exact(const std::string& output, const ExactComparison& comparison, Judgement& judgement);

// As other `kernel_error` objects: margin 0 when nothing unexplained differs, else infinite.
results::Json exact_json(const std::string& output, const ExactComparison& comparison);

}  // namespace ampgate::validate
