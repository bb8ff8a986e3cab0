// What a trial's answer looks like to the driver, and what an exception makes of a trial.
#pragma once

#include <functional>
#include <string>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/trial.h"

namespace ampgate::validate {

TrialAnswer without_numbers(results::Verdict verdict, std::string reason);

// Runs `make`; an exception becomes the trial's verdict.
TrialAnswer guarded(const std::function<TrialAnswer()>& make);

results::Json finding_json(const Finding& finding, const std::string& shape);

// The body of `trial_finished`, without its id and what edge inputs found.
results::Json trial_report(const cases::Case& definition, const cases::Shape& shape,
                           const precision::Precision& precision, const TrialAnswer& answer);

}  // namespace ampgate::validate
