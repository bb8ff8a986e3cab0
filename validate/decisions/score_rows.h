// Scores of one output as rows, each of which decides for itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "cases/decisions.h"

namespace ampgate::validate {

// (N, ..., C): every position but the last dimension is a row of C scores. Where each score decides for
// itself (thresholds, intervals) every element is a row of one score.
struct ScoreRows {
  at::Tensor values;                 // (rows, classes), FP64 on the CPU, contiguous
  std::int64_t samples = 0;          // N
  std::int64_t rows_per_sample = 0;  // 1 for (N, C)
  std::int64_t last = 1;             // C: which threshold a row of one score has is its number modulo C

  std::int64_t rows() const { return values.size(0); }
  std::int64_t classes() const { return values.size(1); }
  const double* row(std::int64_t number) const {
    return values.const_data_ptr<double>() + number * values.size(1);
  }
};

// Scores of any floating type, on any device, of one dimension at least.
ScoreRows score_rows(const at::Tensor& scores, const cases::Decisions& rule);

// Do thresholds or intervals look at each score for itself?
bool decides_single_scores(const cases::Decisions& rule);

// Why the rule cannot decide about such scores: no rows, one class, k or thresholds that do not fit. Empty
// when it can.
std::string why_undecidable(const at::Tensor& scores, const cases::Decisions& rule);

}  // namespace ampgate::validate
