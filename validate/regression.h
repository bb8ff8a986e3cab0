// Quality of a model that predicts numbers: its errors against the right values, and against the baseline.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "results/json.h"
#include "results/rules.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Errors predicted - right over all elements, in FP64.
struct RegressionError {
  std::int64_t rows = 0;  // elements
  double rmse = 0.0;
  double max_abs_error = 0.0;
  double p99_abs_error = 0.0;  // nearest rank: below 100 elements the largest
  double mean_signed_error = 0.0;
};

// Both may be of any floating type, with the same number of elements, one at least. A NaN makes all but
// `rows` NaN.
RegressionError regression_error(const at::Tensor& predicted, const at::Tensor& right);

// Why targets cannot be those of such predictions: number, type, NaN. Empty when they can.
std::string why_no_targets(const at::Tensor& targets, const at::Tensor& predicted);

struct Predictions {
  const at::Tensor& oracle;
  const at::Tensor& baseline;
  const at::Tensor& trial;
  const at::Tensor& targets;
};

// {"rows", "against_targets": {"oracle", "baseline", "trial"}, "against_baseline"}, errors each, and
// `quality-lost` by judge_rmse.
results::Json judge_regression(const results::Rules& rules, const std::string& case_name,
                               const Predictions& predictions, Judgement& judgement);

// `quality-lost` by the case's largest RMSE and the largest ratio to the baseline's.
void judge_rmse(const results::Rules& rules, const std::string& case_name, double baseline, double trial,
                Judgement& judgement);

}  // namespace ampgate::validate
