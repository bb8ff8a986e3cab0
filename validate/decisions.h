// Decisions of a model that gives scores: which rows decide otherwise than the baseline, and whether rounding
// explains it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/rules.h"
#include "validate/judgement.h"

namespace ampgate::validate {

struct Decision {
  std::int64_t chosen = 0;     // index of the largest score; kRejected for a tie where the rules reject ties
  std::int64_t runner_up = 0;  // index of the largest score besides
  bool tie = false;            // both are equal
};
inline constexpr std::int64_t kRejected = -1;

// One decision a row of (N, classes) scores of any floating type. Of equal scores the lowest index is the
// larger.
std::vector<Decision> decide(const at::Tensor& scores, const std::string& tie_rule);

// Share of rows that decide for their label (int64, N).
double accuracy(const std::vector<Decision>& decisions, const at::Tensor& labels);

enum class FlipClass {
  kExplained,    // the baseline's margin is within what rounding moves it
  kTieCollapse,  // so, and the trial's two largest scores are equal
  kDefect,       // rounding does not explain it
};

struct Flip {
  std::int64_t row;
  std::int64_t from;       // the baseline's decision
  std::int64_t to;         // the trial's
  double baseline_margin;  // between the two classes, in the baseline's scores
  FlipClass cls;
};

// Rows of `trial` that decide otherwise than `baseline`. `replays` are scores of the replays with random
// rounding: a flip is explained up to flip_deviations of the standard deviation of the margin over them.
std::vector<Flip> find_flips(const at::Tensor& baseline, const at::Tensor& trial,
                             const std::vector<at::Tensor>& replays, const results::Rules& rules);

struct FlipCounts {
  std::int64_t flips = 0;
  std::int64_t explained = 0;
  std::int64_t defects = 0;
  std::int64_t tie_collapses = 0;
  double largest_margin = 0.0;  // that flipped
};
FlipCounts count(const std::vector<Flip>& flips);

// The counts as JSON, with a table of at most 50 flipped rows.
results::Json to_json(const FlipCounts& counts);
results::Json flip_table(const std::vector<Flip>& flips);

// `decision-changed` when the share of defects or flips among `rows` is above what the rules allow. `where`
// names the rows in the reason. Boundary rows flip by design: there only defects count.
void judge_flips(const results::Rules& rules, const std::vector<Flip>& flips, std::int64_t rows,
                 bool boundary, const std::string& where, Judgement& judgement);

// `quality-lost` by the least accuracy of the case and the largest loss against the baseline.
void judge_accuracy(const results::Rules& rules, const std::string& case_name, double baseline, double trial,
                    Judgement& judgement);

}  // namespace ampgate::validate
