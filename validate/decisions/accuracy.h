// How many decisions are right on the case's data, and whether that is enough.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "results/rules.h"
#include "validate/decisions/decide.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Why labels cannot be those of such rows: number, type, range. Empty when they can.
std::string why_no_labels(const at::Tensor& labels, const ScoreRows& rows, const cases::Decisions& rule);

// Are all labels the same? Then accuracy tells little about a model.
bool one_class_only(const at::Tensor& labels);

// Rows whose decision is the label's; a rejected or lost decision is none.
std::int64_t right_decisions(const std::vector<Decision>& decisions, const at::Tensor& labels,
                             const cases::Decisions& rule);

// Right decisions of `rows`.
struct Accuracy {
  std::int64_t rows = 0;
  std::int64_t baseline = 0;
  std::int64_t trial = 0;

  double share(std::int64_t right) const { return static_cast<double>(right) / static_cast<double>(rows); }
};

// `quality-lost` by the least accuracy of the case and the largest loss against the baseline. Where the loss
// is one row, and one row weighs more than the loss that the rules allow, the data is too small to tell:
// `ambiguous`.
void judge_accuracy(const results::Rules& rules, const std::string& case_name, const Accuracy& accuracy,
                    Judgement& judgement);

}  // namespace ampgate::validate
