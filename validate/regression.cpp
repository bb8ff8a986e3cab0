#include "validate/regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "validate/text.h"

namespace ampgate::validate {

using results::Json;
using results::Verdict;

namespace {

Json error_json(const RegressionError& error) {
  return {{"rmse", results::number(error.rmse)},
          {"max_abs_error", results::number(error.max_abs_error)},
          {"p99_abs_error", results::number(error.p99_abs_error)},
          {"mean_signed_error", results::number(error.mean_signed_error)}};
}

}  // namespace

RegressionError regression_error(const at::Tensor& predicted, const at::Tensor& right) {
  const at::Tensor values = predicted.detach().to(at::kCPU, at::kDouble);
  const at::Tensor errors = (values - right.to(at::kCPU, at::kDouble).view_as(values)).contiguous().flatten();
  RegressionError result{.rows = errors.numel()};
  const double* error = errors.const_data_ptr<double>();
  std::vector<double> sizes(static_cast<std::size_t>(result.rows));
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum += error[i];
    squares += error[i] * error[i];
    sizes[i] = std::abs(error[i]);
  }
  const auto rows = static_cast<double>(result.rows);
  result.rmse = std::sqrt(squares / rows);
  result.mean_signed_error = sum / rows;
  if (std::isnan(squares)) {
    result.max_abs_error = result.p99_abs_error = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  const auto rank = sizes.begin() + static_cast<std::ptrdiff_t>(std::ceil(0.99 * rows)) - 1;
  std::nth_element(sizes.begin(), rank, sizes.end());
  result.p99_abs_error = *rank;
  result.max_abs_error = *std::max_element(rank, sizes.end());
  return result;
}

std::string why_no_targets(const at::Tensor& targets, const at::Tensor& predicted) {
  if (targets.numel() == 0) return "there are no targets: the batch is empty";
  if (targets.numel() != predicted.numel()) {
    return "there are " + std::to_string(targets.numel()) + " targets for " +
           std::to_string(predicted.numel()) + " predictions";
  }
  return targets.is_complex() || !predicted.is_floating_point() ? "targets and predictions are no numbers"
                                                                : "";
}

Json judge_regression(const results::Rules& rules, const std::string& case_name,
                      const Predictions& predictions, Judgement& judgement) {
  const auto& [oracle, baseline, trial, targets] = predictions;
  const RegressionError before = regression_error(baseline, targets);
  const RegressionError after = regression_error(trial, targets);
  judge_rmse(rules, case_name, before.rmse, after.rmse, judgement);
  return {{"rows", after.rows},
          {"against_targets",
           {{"oracle", error_json(regression_error(oracle, targets))},
            {"baseline", error_json(before)},
            {"trial", error_json(after)}}},
          {"against_baseline", error_json(regression_error(trial, baseline))}};
}

void judge_rmse(const results::Rules& rules, const std::string& case_name, double baseline, double trial,
                Judgement& judgement) {
  const auto maximum = rules.maximum_rmse.find(case_name);
  if (maximum != rules.maximum_rmse.end() && !(trial <= maximum->second)) {
    judgement.worsen(Verdict::kQualityLost, "RMSE " + text(trial) + " is above the " + text(maximum->second) +
                                                " that the rules allow");
  } else if (!(trial <= rules.maximum_rmse_ratio * baseline)) {
    judgement.worsen(Verdict::kQualityLost, "RMSE " + text(trial) + " is more than " +
                                                text(rules.maximum_rmse_ratio) +
                                                " times the FP32 baseline's " + text(baseline));
  }
}

}  // namespace ampgate::validate
