#include "validate/trial.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "cases/execute.h"
#include "cases/shared_memory.h"
#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/cost_report.h"
#include "validate/criterion.h"
#include "validate/evidence.h"
#include "validate/failure.h"
#include "validate/inputs/designed.h"
#include "validate/mutants.h"
#include "validate/output_rules.h"
#include "validate/repetition.h"
#include "validate/strange.h"
#include "validate/surroundings.h"
#include "validate/text.h"
#include "validate/trial_run.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr std::int64_t kCheckedPositions = 4096;  // of all outputs of a trial
constexpr std::size_t kStrangeElements = 8;       // of an output

// A bound is made for the type that came out, so a result in a 16-bit type that nobody asked for would be
// judged by its wider bound. FP32 may come out of every precision: not everything is lowered.
void check_types(const cases::Case& definition, const precision::Precision& precision,
                 const cases::Outputs& outputs, Judgement& judgement) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto type = outputs[i].scalar_type();
    if (!precision::is_16_bit(type) || type == precision.type) continue;
    const auto& own = definition.own_types;
    if (std::find(own.begin(), own.end(), type) != own.end()) continue;
    judgement.worsen(Verdict::kInaccurate, definition.outputs[i] + " is " + precision::type_name(type) +
                                               ", which " + std::string(precision.name) +
                                               " does not ask for");
  }
}

bool is_ignored(const CaseSetup& setup, std::size_t output) {
  return !why_ignored(setup.session.rules, setup.definition.name, setup.definition.outputs[output]).empty();
}

// The result of the case before, unless that one computes the same: a model in two files, say.
at::Tensor stale_output(const CaseSetup& setup, const Criterion& criterion) {
  constexpr double kSame = 1e-3;  // of the results' RMS: FP32 is far below, and FP16 about there
  const at::Tensor stale = setup.session.outputs->before(setup.definition.name);
  if (!stale.defined()) return stale;
  const at::Tensor& right = setup.oracle.empty() ? criterion.oracle[0] : setup.oracle[0];
  const at::Tensor flat = right.to(at::kDouble).reshape({-1});
  if (flat.numel() < stale.numel()) return stale;
  const at::Tensor same = flat.narrow(0, 0, stale.numel());
  return (stale - same).norm().item<double>() <= kSame * same.norm().item<double>() ? at::Tensor() : stale;
}

// What the criterion does to wrong results on one kind of input.
void test_criterion(const CaseSetup& setup, const Criterion& criterion, const cases::Outputs& outputs,
                    const std::string& input, Vacuity& vacuity) {
  const bool suspect_allowed = setup.session.rules.suspect_opens_gate;
  cases::Outputs rounded;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor& right = criterion.oracle[i];
    if (is_ignored(setup, i)) {
      rounded.push_back(at::empty({0}));  // an output that nobody looks at has no mutants
    } else {
      rounded.push_back(right.is_floating_point() ? precision::round_tensor(right, outputs[i].scalar_type())
                                                  : right);
    }
  }
  vacuity.try_on(input, rounded, setup.definition, stale_output(setup, criterion),
                 [&](const cases::Outputs& mutant) {
                   return results::opens_gate(criterion.judge_part(mutant).verdict, suspect_allowed);
                 });
}

void judge_vacuity(const Vacuity& vacuity, Judgement& judgement) {
  const std::string survivor = vacuity.survivor();
  if (survivor.empty()) return;
  judgement.worsen(Verdict::kVacuous, "the check accepts a wrong result as well (" + survivor +
                                          "), so its margin of " + text(judgement.margin) + " says nothing");
}

std::string two_runs(const cases::Case& definition, const Observation& observation) {
  const Spread& difference = observation.difference;
  const std::string how = std::isinf(difference.max_abs_difference)
                              ? "gives an output of another type"
                              : "gives another output (" + std::to_string(difference.differing) + " of " +
                                    std::to_string(difference.elements) + " elements, by " +
                                    text(difference.max_abs_difference) + " at most)";
  return "what decides is the run that is timed; what explains it is " + definition.observed_as + ", which " +
         how + ": first bad values, regions and operators checked one by one are of the latter" +
         (observation.own_operators
              ? "; the timed run calls other operators, so its error is predicted as if all their parts "
                "rounded to the trial's type"
              : "");
}

void judge_repetition(const CaseSetup& setup, const Repetition& repetition, const Observation& observation,
                      Judgement& judgement) {
  if (repetition.unwritten.count > 0) {
    const Inspection& inspection = observation.inspection;
    std::string why = sentence(repetition.unwritten, unfilled_memory(inspection.calls, inspection.reached),
                               setup.definition, observation.repeated);
    judgement.worsen(Verdict::kNonfinite, why);
    // It explains the NaN that the deciding run found in such memory.
    if (judgement.verdict == Verdict::kNonfinite) judgement.reason = std::move(why);
  }
  if (!repetition.outside.empty() &&
      results::opens_gate(judgement.verdict, setup.session.rules.suspect_opens_gate)) {
    judgement.worsen(
        Verdict::kUnrepeatable,
        std::to_string(repetition.differing) + " of " + std::to_string(repetition.repeats) +
            " repetitions of the same call differ, and one left the bound: " + repetition.outside);
  }
  if (setup.definition.observed_run && !observation.reproduced) {
    judgement.findings.push_back({"ordinary", "property", two_runs(setup.definition, observation)});
  } else if (repetition.differing == 0 && !observation.reproduced) {
    judgement.findings.push_back(
        {"ordinary", "unrepeatable",
         "the run under observation gave another output than the plain runs: operators and "
         "types were seen only under observation"});
  }
}

// Where only a part is judged: with the rows of what looks strange in the whole.
Sample sample_with_strange_rows(const CaseSetup& setup, const cases::Outputs& outputs,
                                const cases::Outputs* baseline) {
  if (setup.sample.whole()) return setup.sample;
  std::vector<Positions> elements;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point() || !setup.sample.misfit(outputs[i]).empty()) continue;
    const at::Tensor* expected = baseline == nullptr ? nullptr : &(*baseline)[i];
    const auto strange = strange_elements(outputs[i], expected, kStrangeElements);
    elements.insert(elements.end(), strange.begin(), strange.end());
  }
  return setup.sample.with(elements);
}

void add_cost(CaseSetup& setup, const Criterion& criterion, const cases::Outputs& outputs,
              const cases::Outputs* baseline, Json& accuracy, Json& absent, Judgement& judgement) {
  if (baseline == nullptr) {
    absent["precision_cost"] = "this is the baseline";
    return;
  }
  Json cost = report_cost(setup, criterion, outputs, *baseline, judgement);
  if (cost.is_null()) {
    absent["precision_cost"] = "no floating output is judged";
  } else {
    accuracy["precision_cost"] = std::move(cost);
  }
}

void add_batch_invariance(const CaseSetup& setup, const precision::Precision& precision, const TrialRun& run,
                          const Criterion& criterion, Json& accuracy, Json& absent, Judgement& judgement) {
  std::optional<BatchInvariance> batch;
  const auto failure = catch_failure([&] {
    batch = batch_invariance(setup.session, setup.definition, setup.facts, precision, run, criterion);
  });
  add_to(accuracy, batch);
  if (batch && !batch->outside.empty()) {
    judgement.findings.push_back({"ordinary", "property", batch->outside});
  }
  if (failure) {
    absent["batch_invariant"] = "a row alone cannot be computed: " + failure->reason;
  } else if (!batch) {
    absent["batch_invariant"] = "the case has no axis along which rows can be computed alone";
  }
}

// The outputs that neither phase looks at, and why.
Json unchecked_outputs(const CaseSetup& setup, Judgement& judgement) {
  Json outputs = Json::object();
  for (const auto& name : setup.definition.outputs) {
    const std::string reason = why_ignored(setup.session.rules, setup.definition.name, name);
    if (reason.empty()) continue;
    outputs[name] = reason;
    judgement.findings.push_back({"ordinary", "ignored", "the rules ignore output " + name + ": " + reason});
  }
  return outputs;
}

Json output_checks(const CaseSetup& setup, const Criterion& criterion, const cases::Outputs& outputs,
                   const Judgement& judgement) {
  Json checks = Json::array();
  // Phase 2 never runs the others, and a result of other sizes has no such positions.
  if (!results::opens_gate(judgement.verdict, /*suspect_allowed=*/true)) return checks;
  const std::int64_t count = kCheckedPositions / std::ssize(outputs);
  for (std::size_t i = 0; i < criterion.bounds.size(); ++i) {
    if (is_ignored(setup, i)) continue;
    const bool hard = judgement.verdict == Verdict::kSuspect && criterion.bounds[i].hard.defined();
    checks.push_back(output_check(setup.definition.outputs[i], criterion.oracle[i], criterion.bounds[i],
                                  outputs[i], criterion.sample, count, setup.session.seed, hard));
  }
  return checks;
}

// The baseline's bad values are kept for the other precisions, which are compared with them.
Json explanation(CaseSetup& setup, const TrialRun& run, const precision::Precision& precision,
                 bool has_baseline, Observation& observation, Judgement& judgement) {
  Inspection& inspection = observation.inspection;
  if (!has_baseline) setup.baseline_bad_values = inspection.made;
  if (judgement.verdict == Verdict::kInaccurate && !inspection.checks) {
    inspection = inspect(setup.session, setup.definition, run, precision);
  }
  return explain(inspection,
                 {setup.original, run.prepared, has_baseline ? &setup.baseline_bad_values : nullptr,
                  setup.definition.observed_run ? &observation.operators : nullptr},
                 judgement);
}

// Calls without the casts that a compiler wrote into the code: what they round is among the arguments of
// those that compute.
std::vector<RecordedCall> without_casts(std::vector<RecordedCall> calls) {
  std::erase_if(calls, [](const RecordedCall& call) { return call.name.starts_with("aten::_autocast_to_"); });
  return calls;
}

bool same_operators(const std::vector<RecordedCall>& a, const std::vector<RecordedCall>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& first, const auto& second) { return first.name == second.name; });
}

// What is predicted from: the case's own run, where it calls what the observed one calls. Else a compiler, or
// a fused operator, has made something else of them, which may keep all its values in 16 bit.
std::vector<RecordedCall> telling_calls(Observation& observation, c10::ScalarType type) {
  if (observation.own_calls.empty()) return std::move(observation.calls);
  std::vector<RecordedCall> own = without_casts(std::move(observation.own_calls));
  observation.own_operators = !same_operators(own, observation.calls);
  if (!observation.own_operators) return own;
  for (RecordedCall& call : observation.calls) {
    for (auto& rounded : call.rounded) {
      if (rounded && type != at::kFloat) rounded = type;
    }
  }
  return std::move(observation.calls);
}

TrialAnswer judged(CaseSetup& setup, const precision::Precision& precision, const cases::Outputs* baseline) {
  const auto& [session, definition] = std::tie(setup.session, setup.definition);
  TrialRun run = run_plain(session, definition, setup.original, precision, setup.like);
  Observation observation = observe(session, definition, run, precision);

  TrialAnswer answer;
  Criterion criterion;
  std::optional<Prediction> prediction;
  if (definition.model) {
    const Reference& reference = setup.references.get(run.prepared, precision, judged_type(run.outputs, 0));
    observation.calls = telling_calls(observation, precision.type);
    prediction = predict(session, definition, setup.original, reference, precision, observation.calls,
                         setup.facts.decisions.has_value());
    criterion = model_criterion(session.rules, definition, reference.oracle, prediction->kernel);
  } else {
    criterion = operator_criterion(session.rules, definition, precision, run.prepared, run.outputs,
                                   setup.references, sample_with_strange_rows(setup, run.outputs, baseline));
  }
  Judgement& judgement = answer.judgement;
  judgement = criterion.judge(run.outputs);
  judgement.findings.insert(judgement.findings.end(), criterion.findings.begin(), criterion.findings.end());
  if (!definition.opaque.empty()) judgement.findings.push_back({"ordinary", "property", definition.opaque});
  check_types(definition, precision, run.outputs, judgement);
  if (results::opens_gate(judgement.verdict, session.rules.suspect_opens_gate)) {
    Vacuity vacuity;
    test_criterion(setup, criterion, run.outputs, "ordinary", vacuity);
    judge_vacuity(vacuity, judgement);
  }
  const Repetition repetition = repeat(session, definition, precision, run, observation, criterion);
  if (run.written.empty()) {
    judge_repetition(setup, repetition, observation, judgement);
  } else {
    judgement.worsen(Verdict::kInaccurate, "the run wrote to its own tensor '" + run.written +
                                               "': a second call sees other inputs than the first");
  }
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    if (!cases::share_memory(observation.repeated[i], run.outputs[i])) continue;
    judgement.worsen(
        Verdict::kUnrepeatable,
        "output " + definition.outputs[i] +
            " of a second call is the memory that the first had returned: whoever keeps a result "
            "sees it change, and a time would be that of no work");
  }
  // A call may return memory that a later call writes to again.
  if (digests_of(run.outputs) != run.digests) {
    judgement.worsen(Verdict::kUnrepeatable, "a later call changed the output that this one had returned");
  }

  Json accuracy{{"kernel_error", judgement.kernel_error}};
  Json absent = Json::object();
  add_cost(setup, criterion, run.outputs, baseline, accuracy, absent, judgement);
  judge_surroundings(session, definition, precision, run, criterion, accuracy, absent, judgement);
  judge_designed_inputs(setup, precision, accuracy, absent, judgement);
  add_to(accuracy, repetition);
  add_batch_invariance(setup, precision, run, criterion, accuracy, absent, judgement);
  if (!absent.empty()) accuracy["absent"] = std::move(absent);

  Json& body = answer.body;
  body["accuracy"] = std::move(accuracy);
  body["decisions"] = Json::object();
  if (prediction) {
    const cases::Outputs& before = baseline != nullptr ? *baseline : setup.oracle;
    body["decisions"] =
        setup.quality.judge({precision, run.outputs, before, *prediction, observation.calls}, judgement);
  }
  body["explanation"] = explanation(setup, run, precision, baseline != nullptr, observation, judgement);
  body["operators"] = cases::to_json(observation.operators, precision.type);
  body["not_lowered"] = precision.type != at::kFloat && definition.opaque.empty() &&
                        !cases::computed_in(observation.operators, precision.type);
  body["facts"] = {{"flops", setup.facts.flops},
                   {"bytes", cases::least_bytes(setup.facts, run.prepared, run.outputs)},
                   {"meaning", name_of(setup.facts.meaning)}};
  body["evidence"] = evidence(session, definition, setup.shape, precision, setup.digests, run);
  body["evidence"]["operators"] = cases::to_json(observation.operators);
  body["evidence"]["checks"] = output_checks(setup, criterion, run.outputs, judgement);
  if (Json unchecked = unchecked_outputs(setup, judgement); !unchecked.empty())
    body["evidence"]["unchecked"] = std::move(unchecked);
  session.outputs->note(definition.name, run.outputs[0]);
  answer.outputs = std::move(run.outputs);
  return answer;
}

}  // namespace

const char* name_of(cases::Meaning meaning) {
  switch (meaning) {
    case cases::Meaning::kValues:
      return "values";
    case cases::Meaning::kScores:
      return "scores";
    case cases::Meaning::kRegression:
      return "regression";
  }
  return "";
}

TrialAnswer judge_trial(CaseSetup& setup, const precision::Precision& precision,
                        const cases::Outputs* baseline) {
  try {
    return judged(setup, precision, baseline);
  } catch (const NoPrediction& problem) {
    TrialAnswer answer;
    answer.judgement.worsen(Verdict::kAmbiguous, problem.what());
    return answer;
  }
}

}  // namespace ampgate::validate
