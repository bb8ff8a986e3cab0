#include "validate/training/training_run.h"

#include <chrono>

#include "validate/training/guarded_training.h"
#include "validate/trial_report.h"

namespace ampgate::validate {

using results::Verdict;

TrainingRun::TrainingRun(const Session& session, const cases::Case& definition, cases::Shape shape,
                         std::filesystem::path checkpoints)
    : setup_{session, definition, std::move(shape)}, checkpoints_(std::move(checkpoints)) {}

results::Json TrainingRun::judge(const std::string& id, const precision::Precision& precision) {
  const auto begin = std::chrono::steady_clock::now();
  results::Json body = trial_report(setup_.definition, setup_.shape, precision, answer(id, precision));
  const auto took = std::chrono::steady_clock::now() - begin;
  body["validation_time_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  return body;
}

TrialAnswer TrainingRun::answer(const std::string& id, const precision::Precision& precision) {
  if (auto refused = refusal(precision)) return *std::move(refused);
  std::optional<TrialCheckpoints> checkpoints;
  TrialAnswer answer = guarded_training(precision, [&] {
    checkpoints.emplace(checkpoints_, id, run_of(setup_));
    checkpoints->keep_start(setup_.trainer(usual_way(precision), setup_.session.seed)->save());
    return judge_training(setup_, precision, baseline_, &*checkpoints);
  });
  if (checkpoints) {
    if (answer.body.empty()) keep_state_before_exception(setup_, precision, *checkpoints);
    answer.extra["checkpoints"] = checkpoints->json();
  }
  if (precision.name == precision::baseline().name) baseline_answer_ = answer;
  return answer;
}

// Made again, without checkpoints, where an earlier run has judged it.
const Judgement& TrainingRun::baseline() {
  if (!baseline_answer_) {
    baseline_answer_ = guarded_training(precision::baseline(), [&] {
      return judge_training(setup_, precision::baseline(), baseline_, nullptr);
    });
  }
  return baseline_answer_->judgement;
}

std::optional<TrialAnswer> TrainingRun::refusal(const precision::Precision& precision) {
  if (!cases::trains_in(precision)) {
    return without_numbers(
        Verdict::kUnsupported,
        "training is judged in fp32, autocast-fp16 with a gradient scaler, and autocast-bf16: weights in "
        "16 bit lose their updates, and a scaler refuses them (\"Attempting to unscale FP16 gradients.\")");
  }
  if (std::string why = setup_.session.backend.unsupported(precision.type, precision.tf32); !why.empty())
    return without_numbers(Verdict::kUnsupported, std::move(why));
  if (precision.name == precision::baseline().name) return {};
  const Judgement& judged = baseline();
  if (results::opens_gate(judged.verdict, setup_.session.rules.suspect_opens_gate)) return {};
  return without_numbers(
      Verdict::kBaselineInvalid,
      "the FP32 training is '" + std::string(results::to_string(judged.verdict)) + "': " + judged.reason);
}

}  // namespace ampgate::validate
