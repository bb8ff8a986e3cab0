#include "validate/regression.h"

#include <cmath>

#include "validate/text.h"

namespace ampgate::validate {

using results::Verdict;

double rmse(const at::Tensor& predicted, const at::Tensor& targets) {
  const at::Tensor values = predicted.to(at::kCPU, at::kDouble);
  const at::Tensor right = targets.to(at::kCPU, at::kDouble).view_as(values);
  return std::sqrt((values - right).square().mean().item<double>());
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
