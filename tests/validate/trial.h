// One trial as the worker judges it, from a registered case: run, oracle, bound, comparison.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/fills.h"
#include "precision/precision.h"
#include "results/rules.h"
#include "validate/bounds.h"
#include "validate/compare.h"
#include "validate/oracle.h"

namespace ampgate::validate {

class Trial {
 public:
  Trial(const cases::Case& definition, const std::vector<std::int64_t>& sizes, std::string_view precision,
        std::uint64_t seed = 1, cases::FillKind fill = cases::FillKind::kOrdinary);
  Trial(const std::string& name, const std::vector<std::int64_t>& sizes, std::string_view precision,
        std::uint64_t seed = 1, cases::FillKind fill = cases::FillKind::kOrdinary);

  Comparison judge(const at::Tensor& output) const { return compare(output, oracle[0], bound, rules); }
  Comparison judge() const { return judge(outputs[0]); }
  // The oracle, rounded once to the output's type: the best a kernel can do.
  at::Tensor rounded_oracle() const;

  const cases::Case& definition;
  results::Rules rules;
  cases::Facts facts;
  cases::State original;
  cases::State prepared;
  cases::Outputs outputs;
  RoundedInputs inputs;
  cases::Outputs oracle;
  Bound bound;
};

// A sentence for failed expectations.
std::string describe(const Comparison& comparison);

}  // namespace ampgate::validate
