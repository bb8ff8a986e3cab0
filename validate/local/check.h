// Every operator of a run against its own FP64 oracle on the values that it took: which one is wrong itself,
// and which ones only pass on what they were given.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/rules.h"
#include "validate/local/adapter.h"
#include "validate/trace.h"

namespace ampgate::validate::local {

enum class Finding {
  kWithin,
  kUndecided,  // every element is ill-conditioned
  kBetween,    // outside E, within the hard bound of its family
  kOutside,
};

struct LocalResult {
  std::size_t call;
  std::string criterion;  // "inner-product bound", "error ratio"
  Finding finding = Finding::kWithin;
  double margin = 0.0;         // 1 is the limit
  std::string text{};          // the worst place in words
  std::string explained_by{};  // kBetween: what may explain it
};

class LocalChecks {
 public:
  // `length`: how many terms operators of libraries add up for one element at most, as the case says; 0: it
  // does not say. The rules outlive the object.
  explicit LocalChecks(const results::Rules& rules, std::int64_t length = 0)
      : rules_(&rules), length_(length) {}

  // To be called for every call of a run, in order. Views and allocations are passed over, and so are calls
  // whose inputs hold NaN already.
  void check(const CallView& view);

  const std::vector<LocalResult>& results() const { return results_; }
  // The first one that is outside its bound; the first one between the bounds when none is.
  const LocalResult* first_outside() const;
  std::int64_t outside() const;
  // How many calls were looked at, whether or not they could be judged.
  std::int64_t operators() const { return std::ssize(results_) + unchecked_calls_; }
  // Operators of libraries that nothing but the error ratio speaks for, which is no proof.
  const std::set<std::string>& unproven() const { return unproven_; }

  // {"operators", "by_bound", "by_error_ratio", "error_ratio_operators", "unchecked", "nonfinite_inputs",
  //  "outside", "worst", "first_outside"}; `calls` are those of the run.
  results::Json to_json(const std::vector<TracedCall>& calls) const;
  // "operator 4, aten::linear in region 'up', is the first outside its own bound: ..."
  std::string sentence(const std::vector<TracedCall>& calls) const;

 private:
  std::optional<LocalProblem> problem_of(const LocalCall& call) const;
  std::optional<LocalResult> judge(const LocalCall& call) const;
  // Of the ways in which kernels read numbers among their arguments the one that fits best.
  std::optional<LocalResult> best_reading(const CallView& view) const;

  const results::Rules* rules_;
  std::int64_t length_;
  std::vector<LocalResult> results_;
  std::set<std::string> by_ratio_;   // names
  std::set<std::string> unproven_;   // those of them that a library of the user's brought
  std::set<std::string> unchecked_;  // names
  std::int64_t unchecked_calls_ = 0;
  std::int64_t bounded_ = 0;
  std::int64_t nonfinite_inputs_ = 0;
};

}  // namespace ampgate::validate::local
