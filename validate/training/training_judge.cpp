#include "validate/training/training_judge.h"

#include <algorithm>
#include <cmath>

#include "cases/operator_recorder.h"
#include "validate/evidence.h"
#include "validate/numerics.h"
#include "validate/text.h"
#include "validate/training/isolation.h"
#include "validate/training/scaling.h"
#include "validate/training/shadow.h"
#include "validate/training/step_trace.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr int kMostIsolationSteps = 24;
constexpr double kFp32GradientError = 1e-4;  // of a shadow step in FP32: it finds gradients that are wrong
constexpr const char* kWeights = "weights";
constexpr const char* kScope =
    "A batch that passed proves no convergence: this holds for these inputs and this number of updates";

struct PlainRun {
  std::vector<std::vector<bool>> stepped;
  std::string weights;
  FinalQuality quality;
  backends::Fields settings;
};

// The run that decides, with nothing looked at but what the scaler itself reads.
PlainRun run_plainly(const TrainingSetup& setup, const Way& way) {
  PlainRun run;
  run.settings = backends::read_settings();
  const auto trainer = setup.trainer(way, setup.session.seed);
  for (int step = 0; step < setup.session.rules.training.updates; ++step) {
    trainer->run_step();
    run.stepped.push_back(trainer->stepped());
  }
  run.weights = weights_digest(*trainer);
  run.quality = quality_of(setup, *trainer, setup.session.seed);
  return run;
}

// Steps whose states are shadowed: the first, the last, and others evenly between them.
std::vector<int> shadow_steps(const results::Rules::Training& rules) {
  std::vector<int> steps;
  for (int i = 0; i < rules.shadow_steps; ++i) {
    const int step = rules.shadow_steps == 1 ? 0 : i * (rules.updates - 1) / (rules.shadow_steps - 1);
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  return steps;
}

Json judge_shadows(const TrainingSetup& setup, const Way& way, const WatchedRun& fp32,
                   const WatchedRun& trial, Judgement& judgement) {
  const auto& rules = setup.session.rules.training;
  const bool baseline = way.precision.name == precision::baseline().name;
  const double limit = baseline ? kFp32GradientError : rules.max_gradient_error;
  Json list = Json::array();
  const auto oracle = setup.oracle(setup.session.seed);
  for (const cases::Checkpoint& state : fp32.shadows) {
    const auto step = state.state.at("iteration").get<std::int64_t>();
    const auto trainer =
        setup.trainer(way, setup.session.seed, trial.steps.at(static_cast<std::size_t>(step)).scale);
    const ShadowStep shadow =
        compare_gradients(unscaled_gradients(*trainer, state), unscaled_gradients(*oracle, state), step);
    list.push_back(to_json(shadow, fp32.parameters));
    const std::string where = "at step " + std::to_string(step) + " of the FP32 training ";
    if (std::isinf(shadow.error)) {
      // A scale that is still too large gives infinities, and the step is skipped: the scaler's business.
      if (!way.scaler) judgement.worsen(Verdict::kNonfinite, where + "gradients are not finite");
    } else if (shadow.error > limit) {
      judgement.worsen(Verdict::kInaccurate, where + "the gradient is off by " + text(shadow.error) +
                                                 " of FP64's norm; " + text(limit) + " are allowed");
    }
    if (shadow.zeroed > rules.max_zeroed_share) {
      judgement.worsen(Verdict::kInaccurate,
                       where + text(100 * shadow.zeroed) + " % of the gradients that FP64 has are zero; " +
                           text(100 * rules.max_zeroed_share) + " % are allowed: they underflow");
    }
  }
  return list;
}

// An update that was called and changed nothing trains nothing.
void judge_updates(const WatchedRun& watched, Judgement& judgement) {
  const auto unchanged = std::count_if(watched.steps.begin(), watched.steps.end(),
                                       [](const StepReport& step) { return step.unchanged; });
  if (unchanged == 0) return;
  const auto first = std::find_if(watched.steps.begin(), watched.steps.end(),
                                  [](const StepReport& step) { return step.unchanged; });
  judgement.worsen(Verdict::kQualityLost,
                   std::to_string(unchanged) + " of " + std::to_string(watched.steps.size()) +
                       " updates were applied and changed no weight, the first at step " +
                       std::to_string(first - watched.steps.begin()) +
                       ": they are lost in the rounding of the weights, or the gradients are zero");
}

void judge_finite(const WatchedRun& watched, bool scaler, Judgement& judgement) {
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    const StepReport& step = watched.steps[i];
    const std::string where = " at step " + std::to_string(i);
    if (!step.weights_finite) {
      return judgement.worsen(Verdict::kNonfinite, "weights are not finite after the update" + where);
    }
    // With a scaler, a loss or gradients that are not finite skip the step; scaling.h counts those.
    if (scaler) continue;
    if (!std::isfinite(step.loss))
      return judgement.worsen(Verdict::kNonfinite, "the loss is " + text(step.loss) + where);
    if (step.nonfinite > 0) {
      return judgement.worsen(Verdict::kNonfinite,
                              std::to_string(step.nonfinite) + " gradients are not finite" + where);
    }
  }
}

// A learning rate that is too high makes FP32 diverge: say so, since no precision heals it.
void judge_divergence(const WatchedRun& watched, Judgement& judgement) {
  const double first = watched.steps.front().loss, last = watched.steps.back().loss;
  constexpr double kDiverged = 10;
  if (!(last > kDiverged * std::max(first, 1e-3))) return;
  judgement.worsen(Verdict::kQualityLost, "the loss grew from " + text(first) + " to " + text(last) +
                                              ": the training diverges in FP32; lower the learning rate");
}

// The same steps were taken, to the same weights.
bool reproduces(const PlainRun& plain, const WatchedRun& watched) {
  if (watched.steps.back().weights != plain.weights) return false;
  for (std::size_t i = 0; i < plain.stepped.size(); ++i) {
    if (plain.stepped[i] != watched.steps[i].stepped) return false;
  }
  return true;
}

Json explanation(const TrainingSetup& setup, const Way& way, const WatchedRun& watched,
                 Judgement& judgement) {
  Json json{{"swallowed", Json::array()}};
  const auto trainer = setup.trainer(way, setup.session.seed);
  if (watched.before_bad) {
    trainer->restore(*watched.before_bad);
    const TracedStep traced = trace_step(setup.session, *trainer);
    if (traced.first) {
      json["first_bad"] = traced.first->json;
      if (judgement.verdict == Verdict::kNonfinite) {
        judgement.reason +=
            "; first bad value, at step " + std::to_string(*watched.bad_step) + ": " + traced.first->sentence;
      }
    }
    return json;
  }
  for (const auto& bad : trace_step(setup.session, *trainer).swallowed) json["swallowed"].push_back(bad.json);
  if (!json["swallowed"].empty()) {
    judgement.findings.push_back({"ordinary", "swallowed",
                                  "a NaN or infinity of the first step shows neither in the loss nor in "
                                  "gradients or weights: " +
                                      json["swallowed"][0].at("text").get<std::string>()});
  }
  return json;
}

std::vector<cases::OperatorRecord> operators_of(const TrainingSetup& setup, const Way& way) {
  const auto trainer = setup.trainer(way, setup.session.seed);
  cases::OperatorRecorder recorder;
  trainer->run_step();
  return recorder.take();
}

}  // namespace

Json trained_weights(const TrainingSetup& setup, const precision::Precision& precision) {
  const auto numerics = numerics_scope(precision);
  return {{kWeights, run_plainly(setup, usual_way(precision)).weights}};
}

TrialAnswer judge_training(const TrainingSetup& setup, const precision::Precision& precision,
                           std::optional<TrainingBaseline>& baseline) {
  const Session& session = setup.session;
  const auto& rules = session.rules.training;
  const Way way = usual_way(precision);
  const bool is_baseline = precision.name == precision::baseline().name;
  const auto numerics = numerics_scope(precision);

  const PlainRun plain = run_plainly(setup, way);
  const auto watched_trainer = setup.trainer(way, session.seed);
  WatchedRun watched =
      watch(*watched_trainer, rules.updates, is_baseline ? shadow_steps(rules) : std::vector<int>{});

  TrialAnswer answer;
  Judgement& judgement = answer.judgement;
  judge_finite(watched, way.scaler, judgement);
  Json training{{"updates", rules.updates}, {"scaler", way.scaler}};
  training.update(judge_scaling(rules, watched, way.scaler, judgement));
  const bool repeatable = reproduces(plain, watched);
  if (!repeatable) {
    judgement.findings.push_back({"ordinary", "unrepeatable",
                                  "the watched training did not end with the weights of the plain one: what "
                                  "is said of its steps was seen only under observation"});
  }
  if (is_baseline) judge_divergence(watched, judgement);
  judge_updates(watched, judgement);
  if (is_baseline) baseline = TrainingBaseline{std::move(watched), {}};
  const WatchedRun& steps = is_baseline ? baseline->watched : watched;
  training["shadow"] = judge_shadows(setup, way, baseline->watched, steps, judgement);
  Json absent = Json::object();
  if (results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate)) {
    const auto qualities = train_all(setup, way, plain.quality);
    if (is_baseline) baseline->qualities = qualities;
    training["quality"] = is_baseline ? judge_baseline_quality(setup, qualities, judgement)
                                      : judge_final_quality(setup, baseline->qualities, qualities, judgement);
  } else {
    absent["quality"] = "the training failed before its quality could be judged";
  }
  if (steps.bad_step) training["bad_step"] = *steps.bad_step;
  training["steps"] = to_json(steps);
  const Json explained = explanation(setup, way, steps, judgement);
  const bool failed = !results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate);
  if (!is_baseline && failed && judgement.verdict != Verdict::kAmbiguous) {
    const int until = steps.bad_step ? static_cast<int>(*steps.bad_step) + 1 : 1;
    const Isolation isolation =
        isolate(setup, precision.type, std::clamp(until, std::min(8, rules.updates), kMostIsolationSteps));
    training["isolation"] = isolation.json;
    judgement.reason += ". " + isolation.words;
  }
  training["scope"] = kScope;
  if (!absent.empty()) training["absent"] = std::move(absent);

  const auto operators = operators_of(setup, way);
  const cases::Facts facts = setup.definition.facts(setup.shape);
  const cases::State original = setup.original(session.seed);
  Json& body = answer.body;
  body["accuracy"] = {{"repeatable_in_process", repeatable}};
  body["training"] = std::move(training);
  body["decisions"] = Json::object();
  body["explanation"] = explained;
  body["operators"] = cases::to_json(operators, precision.type);
  body["not_lowered"] = precision.type != at::kFloat && !cases::computed_in(operators, precision.type);
  body["facts"] = {{"flops", facts.flops}, {"bytes", 0.0}, {"meaning", name_of(facts.meaning)}};
  TrialRun run;
  run.settings = plain.settings;
  body["evidence"] =
      evidence(session, setup.definition, setup.shape, precision, input_digests(original), run);
  body["evidence"]["outputs"] = {{kWeights, plain.weights}};
  body["evidence"]["operators"] = cases::to_json(operators);
  body["evidence"]["checks"] = Json::array();
  return answer;
}

}  // namespace ampgate::validate
