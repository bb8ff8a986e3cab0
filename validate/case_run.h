// All precisions of one case in one shape: the baseline first, and nothing without a sound baseline.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "precision/precision.h"
#include "validate/case_setup.h"
#include "validate/trial.h"

namespace ampgate::validate {

class CaseRun {
 public:
  // `with_edges`: try edge inputs as well, once for a case. The arguments outlive the object.
  CaseRun(const Session& session, const cases::Case& definition, cases::Shape shape, bool with_edges);

  // The body of `trial_finished` without `id`. The first call makes the baseline, whatever its precision.
  // What goes wrong inside the trial is its verdict; nothing is thrown for that.
  results::Json judge(const precision::Precision& precision);

 private:
  const TrialAnswer& baseline();
  // For a precision that cannot be judged at all; empty when it can.
  std::optional<TrialAnswer> refusal(const precision::Precision& precision);
  std::string unsupported(const precision::Precision& precision) const;
  TrialAnswer judged(const precision::Precision& precision);
  // For `islands-*`: what autocast without islands was judged, then the search for a set that heals it.
  TrialAnswer judge_islands(const precision::Precision& precision);
  // Findings on edge inputs. What autocast left in FP32 does not repeat those of the baseline.
  results::Json edges_of(const precision::Precision& precision, bool not_lowered);
  results::Json report(const precision::Precision& precision, const TrialAnswer& answer);

  const Session& session_;
  cases::Case definition_;  // since the first trial with what is known of the operator that a case file calls
  bool looked_up_ = false;
  const cases::Shape shape_;
  const bool with_edges_;
  std::optional<CaseSetup> setup_;
  std::optional<TrialAnswer> baseline_;
  results::Json baseline_edges_ = results::Json::array();
  std::map<std::string_view, Judgement> judgements_;  // by precision, the latest; not the baseline's
};

}  // namespace ampgate::validate
