#include "validate/training/training_run.h"

#include <chrono>

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

TrainingRun::TrainingRun(const Session& session, const cases::Case& definition, cases::Shape shape)
    : setup_{session, definition, std::move(shape)} {}

results::Json TrainingRun::judge(const precision::Precision& precision) {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_baseline = precision.name == precision::baseline().name;
  baseline();
  const TrialAnswer trial = is_baseline ? *baseline_answer_ : answer(precision);
  results::Json body = trial_report(setup_.definition, setup_.shape, precision, trial);
  const auto took = std::chrono::steady_clock::now() - begin;
  body["validation_time_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  return body;
}

const Judgement& TrainingRun::baseline() {
  if (!baseline_answer_) {
    baseline_answer_ = train(precision::baseline());
  }
  return baseline_answer_->judgement;
}

TrialAnswer TrainingRun::answer(const precision::Precision& precision) {
  if (!cases::trains_in(precision)) {
    return without_numbers(
        Verdict::kUnsupported,
        "training is judged in fp32, autocast-fp16 with a gradient scaler, and autocast-bf16: converted "
        "weights "
        "lose their updates in 16 bit, and a scaler refuses their gradients (\"Attempting to unscale FP16 "
        "gradients.\")");
  }
  if (std::string why = setup_.session.backend.unsupported(precision.type, precision.tf32); !why.empty())
    return without_numbers(Verdict::kUnsupported, std::move(why));
  const Judgement& judged = baseline();
  if (!results::opens_gate(judged.verdict, setup_.session.rules.suspect_opens_gate)) {
    return without_numbers(
        Verdict::kBaselineInvalid,
        "the FP32 training is '" + std::string(results::to_string(judged.verdict)) + "': " + judged.reason);
  }
  return train(precision);
}

TrialAnswer TrainingRun::train(const precision::Precision& precision) {
  return guarded([&] {
    try {
      return judge_training(setup_, precision, baseline_);
    } catch (const cases::Misuse& error) {
      return without_numbers(verdict_of_misuse(precision), std::string("misuse: ") + error.what());
    } catch (const precision::GradScalerError& error) {
      return without_numbers(verdict_of_misuse(precision),
                             std::string("misuse of the gradient scaler: ") + error.what());
    }
  });
}

}  // namespace ampgate::validate
