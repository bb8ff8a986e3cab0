// Quality of a model that predicts numbers: root-mean-square error against the right values.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "results/rules.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// In FP64; both may be of any floating type, with the same number of elements.
double rmse(const at::Tensor& predicted, const at::Tensor& targets);

// `quality-lost` by the case's largest RMSE and the largest ratio to the baseline's.
void judge_rmse(const results::Rules& rules, const std::string& case_name, double baseline, double trial,
                Judgement& judgement);

}  // namespace ampgate::validate
