#include "validate/training/isolated_way.h"

#include <algorithm>
#include <cmath>

#include "validate/failure.h"
#include "validate/numerics.h"
#include "validate/text.h"
#include "validate/training/final_quality.h"
#include "validate/training/scaling.h"
#include "validate/training/shadow_judge.h"
#include "validate/training/step_judge.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;
using Kind = Trouble::Kind;

constexpr double kMostlyZero =
    0.5;  // a gradient that is mostly lost trains nothing, whatever the rules allow

void trace(const TrainingSetup& setup, const Way& way, const cases::Checkpoint& state, double scale,
           WayOutcome& outcome) {
  const auto trainer = setup.trainer(way, setup.session.seed, scale);
  trainer->restore(state, cases::OtherPrecision::kAllowed);
  TracedStep traced = trace_step(*trainer);
  outcome.first = std::move(traced.first);
  if (!traced.swallowed.empty()) outcome.swallowed = std::move(traced.swallowed.front());
}

void judge_gradient(const TrainingSetup& setup, const Way& way, const Trouble& trouble,
                    const Beginning& beginning, WayOutcome& outcome, Judgement& judgement) {
  outcome.shadow = shadow_step(setup, way, beginning.state, beginning.gradients, trouble.scale);
  const ZeroShares& zeros = outcome.shadow->zeros;
  if (trouble.kind == Kind::kGradient) {
    judge_shadow(setup.session.rules.training, way, *outcome.shadow, judgement);
    if (std::find(zeros.lost.begin(), zeros.lost.end(), true) != zeros.lost.end())
      judgement.worsen(Verdict::kInaccurate, "all of a parameter's gradient underflows");
  } else if (zeros.underflow > kMostlyZero) {
    judgement.worsen(Verdict::kInaccurate, text(100 * zeros.underflow) + " % of the gradients underflow");
  }
}

void take_steps(const TrainingSetup& setup, const Way& way, const Trouble& trouble,
                const Beginning& beginning, WayOutcome& outcome) {
  const auto trainer = setup.trainer(way, setup.session.seed, trouble.scale);
  trainer->restore(beginning.state, cases::OtherPrecision::kAllowed);
  const WatchedRun watched = watch(*trainer, trouble.steps, {});
  for (const auto& step : watched.steps) (step.applied() ? outcome.applied : outcome.skipped) += 1;
  outcome.weights_finite = watched.steps.back().weights_finite;
  Judgement judgement;
  judge_finite(watched, way.scaler, judgement);
  judge_updates(watched, /*nothing_to_learn=*/false, judgement);
  if (trouble.kind == Kind::kSteps) {
    results::Rules::Training rules = setup.session.rules.training;
    if (!trouble.skips_too_often) rules.max_skipped_share = 1;  // of a whole training, not of these steps
    judge_scaling(rules, watched, way.scaler, judgement);
  }
  judge_gradient(setup, way, trouble, beginning, outcome, judgement);
  if (judgement.verdict != Verdict::kAmbiguous) outcome.reason = judgement.reason;
  if (watched.bad_step) outcome.bad_step = watched.first_step + static_cast<std::int64_t>(*watched.bad_step);
  if (watched.before_bad || trouble.kind == Kind::kGradient)
    trace(setup, way, watched.before_bad ? *watched.before_bad : beginning.state, trouble.scale, outcome);
}

void train_whole(const TrainingSetup& setup, const Way& way, const Beginning& beginning,
                 WayOutcome& outcome) {
  const auto trainer = setup.trainer(way, setup.session.seed);
  for (int step = 0; step < setup.session.rules.training.updates; ++step) {
    trainer->run_step();
    (trainer->stepped() == trainer->step_called() ? outcome.applied : outcome.skipped) += 1;
  }
  const QualityMetric metric(setup);
  outcome.quality = quality_of(setup, *trainer, setup.session.seed).value;
  if (beginning.quality && !(metric.loss(*beginning.quality, *outcome.quality) <= metric.margin()))
    outcome.reason = metric.words(*outcome.quality) + " instead of " + metric.words(*beginning.quality);
}

}  // namespace

WayOutcome try_way(const TrainingSetup& setup, const Way& way, const Trouble& trouble,
                   const Beginning& beginning) {
  WayOutcome outcome;
  const auto failure = catch_failure([&] {
    const auto numerics = numerics_scope(way.precision);
    if (trouble.kind == Kind::kQuality) {
      train_whole(setup, way, beginning, outcome);
    } else {
      take_steps(setup, way, trouble, beginning, outcome);
    }
  });
  if (failure) outcome.problem = failure->reason;
  return outcome;
}

Json to_json(const WayOutcome& outcome) {
  if (!outcome.problem.empty()) return {{"problem", outcome.problem}};
  Json json{{"applied", outcome.applied}, {"skipped", outcome.skipped}, {"fails", outcome.fails()}};
  if (outcome.fails()) json["reason"] = outcome.reason;
  if (outcome.quality) {
    json["quality"] = results::number(*outcome.quality);
  } else {
    json["weights_finite"] = outcome.weights_finite;
  }
  if (outcome.shadow) {
    json["gradient_error"] = results::number(outcome.shadow->error);
    json["zeroed_share"] = outcome.shadow->zeros.underflow;
  }
  if (outcome.bad_step) json["bad_step"] = *outcome.bad_step;
  if (outcome.first) json["first_bad"] = outcome.first->json;
  return json;
}

}  // namespace ampgate::validate
