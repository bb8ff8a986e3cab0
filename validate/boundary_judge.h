// A trial on inputs near the decision boundary: masks, values and defects decide, explained flips and tie
// collapses are reported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "validate/answers.h"
#include "validate/boundary.h"
#include "validate/decisions/flips.h"
#include "validate/decisions/table.h"
#include "validate/judgement.h"
#include "validate/session.h"

namespace ampgate::validate {

class BoundaryJudge {
 public:
  // `oracle`: the outputs in FP64 on the ordinary inputs. All arguments outlive the object.
  BoundaryJudge(const Session& session, const cases::Case& definition, const cases::Facts& facts,
                const cases::State& original, const cases::Outputs& oracle);

  // Adds verdicts to `judgement` and flips to `table`. Returns one object for each rung, and under
  // `largest_flipped_margin` the largest margin that flipped on any; why there is none instead. The baseline
  // comes first: rungs that its own rounding blurs are left out for all.
  results::Json judge(const Answers& answers, DecisionTable& table, Judgement& judgement);

 private:
  struct Rung {
    BoundaryRung inputs;
    cases::Outputs baseline;
    std::string left_out{};  // why nobody is judged on it
  };

  void make_rungs();
  results::Json judge_rung(Rung& rung, const Answers& answers, DecisionTable& table, Judgement& judgement,
                           double& largest);

  const Session& session_;
  const cases::Case& definition_;
  const cases::Facts& facts_;
  const cases::State& original_;
  const cases::Outputs& oracle_;
  std::optional<std::vector<Rung>> rungs_;
  std::string why_none_;
};

}  // namespace ampgate::validate
