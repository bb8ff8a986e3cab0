#include "validate/training/training_judge.h"

#include <algorithm>
#include <cmath>

#include "validate/evidence.h"
#include "validate/numerics.h"
#include "validate/text.h"
#include "validate/training/baseline_fault.h"
#include "validate/training/isolation.h"
#include "validate/training/loop_audit.h"
#include "validate/training/scale_audit.h"
#include "validate/training/scaling.h"
#include "validate/training/shadow_judge.h"
#include "validate/training/step_explanation.h"
#include "validate/training/step_judge.h"
#include "validate/training/timed_steps.h"
#include "validate/training/trouble.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

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
  const LoopAuditResult audited = audit_loop(setup, way);
  if (way.scaler) audit_scale(setup, audited.clipping);
  const PlainRun plain = run_plainly(setup, way);
  const auto watched_trainer = setup.trainer(way, session.seed);
  WatchedRun watched = watch(*watched_trainer, rules.updates, shadow_steps(rules));
  refuse_changes_in_skips(watched);

  TrialAnswer answer;
  Judgement& judgement = answer.judgement;
  for (const auto& words : audited.unused) judgement.findings.push_back({"ordinary", "unused", words});
  Cause cause(judgement);
  judge_finite(watched, way.scaler, judgement);
  Json training{{"updates", rules.updates}, {"scaler", way.scaler}};
  training.update(judge_scaling(rules, watched, way.scaler, judgement));
  cause.after(Trouble::Kind::kSteps);
  const bool repeatable = reproduces(plain, watched);
  if (!repeatable) {
    judgement.findings.push_back({"ordinary", "unrepeatable",
                                  "the watched training did not end with the weights of the plain one: what "
                                  "is said of its steps was seen only under observation"});
  }
  if (is_baseline) judge_progress(watched, judgement);
  judge_updates(watched, has_nothing_to_learn(setup, way, watched), judgement);
  cause.after(Trouble::Kind::kUpdates);
  if (is_baseline) baseline = TrainingBaseline{std::move(watched), {}, {}};
  const WatchedRun& steps = is_baseline ? baseline->watched : watched;
  const Shadows shadows = take_shadows(setup, way, baseline->watched, steps);
  const cases::Checkpoint* wrong = judge_shadows(rules, way, shadows, baseline->watched, judgement);
  training["shadow"] = to_json(shadows, steps.parameters);
  cause.after(Trouble::Kind::kGradient);
  Json absent = Json::object();
  if (results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate)) {
    const auto qualities = train_all(setup, way, plain.quality);
    if (is_baseline) {
      baseline->qualities = qualities;
      baseline->untrained = untrained(setup);
    }
    training["quality"] =
        is_baseline
            ? judge_baseline_quality(setup, qualities, baseline->untrained, judgement)
            : judge_final_quality(setup, baseline->qualities, baseline->untrained, qualities, judgement);
    cause.after(Trouble::Kind::kQuality);
  } else {
    absent["quality"] = "the training failed before its quality could be judged";
  }
  if (steps.bad_step) training["bad_step"] = *steps.bad_step;
  training["steps"] = to_json(steps);
  const Json explained = explain_steps(setup, way, steps, judgement);
  if (is_baseline) blame_baseline(setup, steps, explained, judgement);
  const bool failed = !results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate);
  if (checkpoints != nullptr) keep_before_bad(steps, judgement, failed, *checkpoints);
  if (!is_baseline && failed && judgement.verdict != Verdict::kAmbiguous) {
    const bool too_often =
        training.at("skipped").get<int>() >
        rules.max_skipped_share * (training.at("skipped").get<int>() + training.at("applied").get<int>());
    const Isolation isolation = isolate(setup, way, trouble_of(rules, cause.kind(), steps, wrong, too_often));
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
