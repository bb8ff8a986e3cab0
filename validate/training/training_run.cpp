#include "validate/training/training_run.h"

#include <chrono>

#include "validate/trial_report.h"

namespace ampgate::validate {

using results::Verdict;

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
    baseline_answer_ = guarded([&] { return judge_training(setup_, precision::baseline(), baseline_); });
  }
  return baseline_answer_->judgement;
}

TrialAnswer TrainingRun::answer(const precision::Precision& precision) {
  if (!cases::trains_in(precision)) {
    return without_numbers(
        Verdict::kUnsupported,
        "training is judged in fp32, autocast-fp16 with a gradient scaler, and autocast-bf16");
  }
  if (std::string why = setup_.session.backend.unsupported(precision.type, precision.tf32); !why.empty())
    return without_numbers(Verdict::kUnsupported, std::move(why));
  const Judgement& judged = baseline();
  if (!results::opens_gate(judged.verdict, setup_.session.rules.suspect_opens_gate)) {
    return without_numbers(
        Verdict::kBaselineInvalid,
        "the FP32 training is '" + std::string(results::to_string(judged.verdict)) + "': " + judged.reason);
  }
  return guarded([&] { return judge_training(setup_, precision, baseline_); });
}

}  // namespace ampgate::validate
