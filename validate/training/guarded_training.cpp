#include "validate/training/guarded_training.h"

#include "cases/training/trainer.h"
#include "validate/trial_report.h"

namespace ampgate::validate {

using results::Verdict;

namespace {

// A loop that is put together wrongly trains nothing that could be judged. Where it is so without a scaler
// already, the case has no baseline.
Verdict verdict_of_misuse(const precision::Precision& precision) {
  return precision.name == precision::baseline().name ? Verdict::kBaselineInvalid : Verdict::kInaccurate;
}

}  // namespace

TrialAnswer guarded_training(const precision::Precision& precision,
                             const std::function<TrialAnswer()>& make) {
  return guarded([&] {
    try {
      return make();
    } catch (const cases::Misuse& error) {
      return without_numbers(verdict_of_misuse(precision), std::string("misuse: ") + error.what());
    } catch (const precision::GradScalerError& error) {
      return without_numbers(verdict_of_misuse(precision),
                             std::string("misuse of the gradient scaler: ") + error.what());
    }
  });
}

}  // namespace ampgate::validate
