// What phase 1 says about one trial: the verdict, why, and the number that decided.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"
#include "results/verdict.h"

namespace ampgate::validate {

// Something worth knowing that does not decide: about an input, or about an operator on edge inputs.
struct Finding {
  std::string input;    // "ordinary", or the kind of edge input
  std::string verdict;  // a verdict's word, or "cast-overflow", "ill-conditioned", "property"
  std::string text;
};

struct Judgement {
  results::Verdict verdict = results::Verdict::kPass;
  std::string reason;
  results::Json kernel_error = results::Json::object();
  double margin = 0.0;  // of the output that kernel_error is about
  std::vector<Finding> findings;

  // Takes over a verdict that weighs more than the one so far; of equal ones the first stays.
  void worsen(results::Verdict other, std::string why);

  // Takes over verdict, reason and findings of a part (one output), as `worsen` does; not its numbers.
  void add(const Judgement& part);
};

}  // namespace ampgate::validate
