#include "validate/training/training_judge.h"

#include <algorithm>
#include <cmath>

#include "validate/evidence.h"
#include "validate/numerics.h"
#include "validate/text.h"
#include "validate/training/baseline_fault.h"
#include "validate/training/isolation.h"
#include "validate/training/loop_audit.h"
#include "validate/training/scaling.h"
#include "validate/training/shadow.h"
#include "validate/training/step_trace.h"
#include "validate/training/timed_steps.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr int kMostIsolationSteps = 24;
constexpr double kFp32GradientError = 1e-4;  // of a shadow step in FP32: it finds gradients that are wrong
constexpr std::size_t kMostSwallowed = 20;   // in the record
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

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// The scale with which the trial makes this step or, where it is skipped, the next one that it makes.
double scale_at(const WatchedRun& trial, std::size_t step) {
  for (std::size_t i = step; i < trial.steps.size(); ++i) {
    if (trial.steps[i].all_stepped()) return trial.steps[i].scale;
  }
  return trial.steps.at(step).scale;
}

struct Shadows {
  std::vector<ShadowStep> trial;           // by state
  std::vector<ShadowStep> without_scaler;  // empty where there is none
};

Shadows take_shadows(const TrainingSetup& setup, const Way& way, const WatchedRun& fp32,
                     const WatchedRun& trial) {
  const std::uint64_t seed = setup.session.seed;
  const auto oracle = setup.oracle(seed);
  Shadows shadows;
  for (const cases::Checkpoint& state : fp32.shadows) {
    const auto step = state.state.at("iteration").get<std::int64_t>();
    const auto right = unscaled_gradients(*oracle, state);
    const auto own = setup.trainer(way, seed, scale_at(trial, static_cast<std::size_t>(step)));
    shadows.trial.push_back(compare_gradients(unscaled_gradients(*own, state), right, step));
    if (!way.scaler) continue;
    const auto without = setup.trainer({way.precision, false}, seed);
    shadows.without_scaler.push_back(compare_gradients(unscaled_gradients(*without, state), right, step));
  }
  return shadows;
}

void judge_shadow(const TrainingSetup& setup, const Way& way, const ShadowStep& shadow,
                  Judgement& judgement) {
  const auto& rules = setup.session.rules.training;
  const bool baseline = way.precision.name == precision::baseline().name;
  const double limit = baseline ? kFp32GradientError : rules.max_gradient_error;
  const std::string where = "at step " + std::to_string(shadow.step) + " of the FP32 training ";
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

// Near a minimum the gradient itself vanishes, and what is left of it is rounding: where its norm is under a
// tenth of the largest, the final quality alone decides.
Json judge_shadows(const TrainingSetup& setup, const Way& way, const Shadows& shadows,
                   const std::vector<std::string>& parameters, Judgement& judgement) {
  constexpr double kVanished = 0.1;
  double largest = 0, lost = 0;
  for (const auto& shadow : shadows.trial) largest = std::max(largest, shadow.norm);
  Json list = Json::array();
  for (std::size_t i = 0; i < shadows.trial.size(); ++i) {
    const ShadowStep& shadow = shadows.trial[i];
    list.push_back(to_json(shadow, parameters));
    if (shadow.norm >= kVanished * largest) judge_shadow(setup, way, shadow, judgement);
    if (!way.scaler) continue;
    const ShadowStep& without = shadows.without_scaler[i];
    list.back()["without_scaler"] = {{"gradient_error", results::number(without.error)},
                                     {"zeroed_share", without.zeroed}};
    lost = std::max(lost, without.zeroed);
  }
  if (lost > setup.session.rules.training.max_zeroed_share) {
    judgement.findings.push_back({"ordinary", "underflow-without-scaler",
                                  "without the scaler " + text(100 * lost) +
                                      " % of the gradients that FP64 has would be zero: they underflow, and "
                                      "scaling heals it"});
  }
  return list;
}

// An update that was called and changed nothing trains nothing. Where another optimizer skipped the same step
// it is no fault of this one: clipping all gradients together makes them zero when one is infinite.
void judge_updates(const WatchedRun& watched, Judgement& judgement) {
  int alone = 0, beside_skip = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    const StepReport& step = watched.steps[i];
    if (!any(step.unchanged)) continue;
    if (!step.all_stepped()) {
      ++beside_skip;
    } else if (++alone == 1) {
      first = i;
    }
  }
  const std::string of =
      " of " + std::to_string(watched.steps.size()) + " updates were applied and changed no ";
  if (alone > 0) {
    judgement.worsen(Verdict::kQualityLost,
                     std::to_string(alone) + of + "weight of their optimizer, the first at step " +
                         std::to_string(first) +
                         ": they are lost in the rounding of the weights, or the gradients are zero");
  }
  if (beside_skip > 0) {
    judgement.findings.push_back({"ordinary", "unchanged",
                                  std::to_string(beside_skip) + of +
                                      "weight where another optimizer skipped: gradients that are clipped "
                                      "together become zero when one of them is infinite"});
  }
}

void judge_finite(const WatchedRun& watched, bool scaler, Judgement& judgement) {
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    const StepReport& step = watched.steps[i];
    const std::string where = " at step " + std::to_string(i);
    // With a scaler, gradients that are not finite skip the step; scaling.h counts those. A loss alone skips
    // nothing.
    if (!std::isfinite(step.loss) && (!scaler || any(step.stepped))) {
      return judgement.worsen(Verdict::kNonfinite,
                              "the loss is " + text(step.loss) + where +
                                  (scaler ? ", and the update was applied: its gradients are finite" : ""));
    }
    if (!scaler && step.nonfinite > 0) {
      return judgement.worsen(Verdict::kNonfinite,
                              std::to_string(step.nonfinite) + " gradients are not finite" + where);
    }
    if (!step.weights_finite)
      return judgement.worsen(Verdict::kNonfinite, "weights are not finite after the update" + where);
  }
}

void judge_progress(const WatchedRun& watched, Judgement& judgement) {
  const double first = watched.steps.front().loss, last = watched.steps.back().loss;
  if (diverges(watched)) {
    judgement.worsen(Verdict::kQualityLost, "the training diverges: the loss begins with " + text(first) +
                                                " and ends with " + text(last));
  } else if (makes_no_progress(watched)) {
    judgement.findings.push_back({"ordinary", "no-progress",
                                  "in " + std::to_string(watched.steps.size()) +
                                      " steps the loss of the FP32 training does not fall (it begins with " +
                                      text(first) + " and ends with " + text(last) +
                                      "): that 16 bit is no worse says little"});
  }
}

// What is wrong in FP32 already is said first: no precision heals it.
void blame_baseline(const TrainingSetup& setup, const WatchedRun& watched, const Json& explained,
                    Judgement& judgement) {
  if (!watched.bad_step && !diverges(watched)) return;
  const bool overflow = explained.value(Json::json_pointer("/first_bad/reason"), "") == "overflow";
  judgement.reason = fault_of_baseline(setup, watched, overflow) + ": " + judgement.reason;
}

// The state to go back to, and why there is none.
void keep_before_bad(const WatchedRun& watched, const Judgement& judgement, bool failed,
                     TrialCheckpoints& checkpoints) {
  const std::string verdict = "'" + std::string(results::to_string(judgement.verdict)) + "'";
  if (!failed)
    return checkpoints.no_bad_step("the verdict is " + verdict + ": there is nothing to go back to");
  if (!watched.before_bad) return checkpoints.no_bad_step("no single batch made the verdict " + verdict);
  const auto step = *watched.bad_step;
  checkpoints.keep_before_bad(*watched.before_bad, static_cast<std::int64_t>(step),
                              watched.steps.at(step).loss);
}

// The same steps were taken, to the same weights.
bool reproduces(const PlainRun& plain, const WatchedRun& watched) {
  if (watched.steps.back().weights != plain.weights) return false;
  for (std::size_t i = 0; i < plain.stepped.size(); ++i) {
    if (plain.stepped[i] != watched.steps[i].stepped) return false;
  }
  return true;
}

// Bad values of one traced step that show nowhere afterwards.
void add_swallowed(const TracedStep& traced, std::int64_t step, Json& list) {
  for (const auto& bad : traced.swallowed) {
    if (list.size() == kMostSwallowed) return;
    list.push_back(bad.json);
    list.back()["step"] = step;
  }
}

// The first bad step is traced, if there is one, and those whose states are shadowed, in trials that pass as
// well: what is swallowed on the way shows in no result.
Json explanation(const TrainingSetup& setup, const Way& way, const WatchedRun& watched,
                 Judgement& judgement) {
  Json json{{"traced_steps", Json::array()}, {"swallowed", Json::array()}};
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
  }
  for (const cases::Checkpoint& state : watched.shadows) {
    const auto step = state.state.at("iteration").get<std::int64_t>();
    const auto fresh = setup.trainer(way, setup.session.seed);
    fresh->restore(state);
    add_swallowed(trace_step(setup.session, *fresh), step, json["swallowed"]);
    json["traced_steps"].push_back(step);
  }
  if (!json["swallowed"].empty()) {
    const Json& first = json["swallowed"][0];
    judgement.findings.push_back(
        {"ordinary", "swallowed",
         "a NaN or infinity at step " + first.at("step").dump() +
             " shows neither in the loss nor in gradients or weights: " +
             (first.contains("operator") ? first.at("operator").get<std::string>()
                                         : "tensor '" + first.at("tensor").get<std::string>() + "'") +
             ": " + first.at("text").get<std::string>()});
  }
  return json;
}

// The trial's answer but for its training: what ran, in which types, and what phase 2 holds against it.
Json answer_body(const TrainingSetup& setup, const Way& way, const precision::Precision& precision,
                 const PlainRun& plain) {
  const TimedSteps timed = timed_steps(setup, way);
  const cases::Facts facts = setup.definition.facts(setup.shape);
  TrialRun run;
  run.settings = plain.settings;
  Json body{
      {"decisions", Json::object()},
      {"operators", cases::to_json(timed.operators, precision.type)},
      {"not_lowered", precision.type != at::kFloat && !cases::computed_in(timed.operators, precision.type)},
      {"facts",
       {{"flops", facts.flops * setup.definition.training->micro_batches},
        {"bytes", 0.0},
        {"meaning", name_of(facts.meaning)}}},
      {"evidence", evidence(setup.session, setup.definition, setup.shape, precision,
                            input_digests(setup.original(setup.session.seed)), run)}};
  Json& made = body["evidence"];
  made["outputs"] = {{kWeights, plain.weights}};
  made["training"] = timed.evidence;
  made["operators"] = cases::to_json(timed.operators);
  made["checks"] = Json::array();
  return body;
}

}  // namespace

Json trained_weights(const TrainingSetup& setup, const precision::Precision& precision) {
  const auto numerics = numerics_scope(precision);
  return {{kWeights, run_plainly(setup, usual_way(precision)).weights}};
}

TrialAnswer judge_training(const TrainingSetup& setup, const precision::Precision& precision,
                           std::optional<TrainingBaseline>& baseline, TrialCheckpoints* checkpoints) {
  const Session& session = setup.session;
  const auto& rules = session.rules.training;
  const Way way = usual_way(precision);
  const bool is_baseline = precision.name == precision::baseline().name;
  const auto numerics = numerics_scope(precision);

  if (is_baseline) check_labels(setup);
  audit_loop(setup, way);
  const PlainRun plain = run_plainly(setup, way);
  const auto watched_trainer = setup.trainer(way, session.seed);
  WatchedRun watched = watch(*watched_trainer, rules.updates, shadow_steps(rules));

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
  if (is_baseline) judge_progress(watched, judgement);
  judge_updates(watched, judgement);
  if (is_baseline) baseline = TrainingBaseline{std::move(watched), {}};
  const WatchedRun& steps = is_baseline ? baseline->watched : watched;
  training["shadow"] = judge_shadows(setup, way, take_shadows(setup, way, baseline->watched, steps),
                                     steps.parameters, judgement);
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
  if (is_baseline) blame_baseline(setup, steps, explained, judgement);
  const bool failed = !results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate);
  if (checkpoints != nullptr) keep_before_bad(steps, judgement, failed, *checkpoints);
  if (!is_baseline && failed && judgement.verdict != Verdict::kAmbiguous) {
    const int until = steps.bad_step ? static_cast<int>(*steps.bad_step) + 1 : 1;
    const int least = std::min(rules.updates, std::max(8, rules.max_consecutive_skips + 2));
    const Isolation isolation = isolate(
        setup, precision.type, std::clamp(until, std::min(least, kMostIsolationSteps), kMostIsolationSteps));
    training["isolation"] = isolation.json;
    judgement.reason += "; " + isolation.words;
  }
  training["scope"] = kScope;
  if (!absent.empty()) training["absent"] = std::move(absent);

  answer.body = answer_body(setup, way, precision, plain);
  answer.body["accuracy"] = {{"repeatable_in_process", repeatable}};
  answer.body["training"] = std::move(training);
  answer.body["explanation"] = explained;
  return answer;
}

}  // namespace ampgate::validate
