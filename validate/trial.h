// One trial: run, judge, explain, and leave the evidence.
#pragma once

#include "precision/precision.h"
#include "validate/case_setup.h"
#include "validate/judgement.h"

namespace ampgate::validate {

struct TrialAnswer {
  Judgement judgement;
  results::Json body =
      results::Json::object();  // what `trial_finished` carries beside verdict, reason and findings
  results::Json extra = results::Json::object();  // the same for what was not judged
  cases::Outputs outputs;                         // of the deciding run
};

// "values", "scores", "regression"
const char* name_of(cases::Meaning meaning);

// `baseline`: the FP32 outputs; null for the baseline itself. What kernels and bounds throw passes through.
TrialAnswer judge_trial(CaseSetup& setup, const precision::Precision& precision,
                        const cases::Outputs* baseline);

}  // namespace ampgate::validate
