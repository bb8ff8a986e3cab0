// The table of decisions in a record: all flips up to a cap, and the rows that came closest to one.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "results/json.h"
#include "validate/decisions/flips.h"

namespace ampgate::validate {

class DecisionTable {
 public:
  // `ids` are the samples' names (int64), or undefined: then their numbers. The arguments outlive the object.
  DecisionTable(const cases::Decisions& rule, const at::Tensor* ids) : rule_(rule), ids_(ids) {}

  // Takes the flips, defects and large margins first, at most `most_flips`, and the `unchanged` rows with the
  // smallest margins. `input` says of what kind the rows are: "ordinary", "boundary".
  void add(const std::string& input, const DecisionComparison& compared, std::size_t most_flips,
           std::size_t unchanged);

  // [{"id", "input", "classes", "baseline_scores", "baseline_decision", "trial_scores", "trial_decision",
  // "margin", "allowed", "effect"}]: scores of the classes that the decisions are about, "margin" the
  // baseline's. "position" is there where a sample has several decisions.
  const results::Json& rows() const { return rows_; }
  // Flips that the cap left out.
  std::size_t left_out() const { return left_out_; }

 private:
  results::Json row(const std::string& input, const DecisionComparison& compared, const Flip& flip) const;

  const cases::Decisions& rule_;
  const at::Tensor* ids_;
  results::Json rows_ = results::Json::array();
  std::size_t left_out_ = 0;
};

}  // namespace ampgate::validate
