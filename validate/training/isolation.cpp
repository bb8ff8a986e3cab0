#include "validate/training/isolation.h"

#include <algorithm>
#include <map>
#include <optional>

#include "validate/failure.h"
#include "validate/text.h"
#include "validate/training/shadow.h"
#include "validate/training/step_trace.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using results::Json;

// What one way of training came to.
struct Outcome {
  std::string problem;  // it could not be run at all
  int skipped = 0;      // steps in which some optimizer was
  int applied = 0;
  std::optional<std::size_t> bad_step;
  std::optional<FirstBad> first;
  double zeroed = 0;  // of the first step's gradients, against FP64

  // Nothing but skipped steps, or weights that are not finite, or gradients that vanished.
  bool fails() const { return !problem.empty() || weights_lost || applied == 0 || zeroed > 0.5; }
  bool weights_lost = false;
};

const precision::Precision& of(precision::Mode mode, c10::ScalarType type) {
  const auto all = precision::all();
  return *std::find_if(all.begin(), all.end(), [&](const precision::Precision& precision) {
    return precision.mode == mode && precision.type == type && !precision.islands && !precision.tf32;
  });
}

// The beginning of the training, and its first step's gradients in FP64: the same for all ways.
struct Beginning {
  cases::Checkpoint state;
  std::vector<at::Tensor> gradients;
};

Beginning beginning(const TrainingSetup& setup) {
  const auto fresh = setup.trainer({precision::baseline(), false}, setup.session.seed);
  cases::Checkpoint state = fresh->save();
  const auto oracle = setup.oracle(setup.session.seed);
  auto gradients = unscaled_gradients(*oracle, state);
  return {std::move(state), std::move(gradients)};
}

double zeroed_share(const TrainingSetup& setup, const Way& way, const Beginning& start) {
  const auto trial = setup.trainer(way, setup.session.seed);
  return compare_gradients(unscaled_gradients(*trial, start.state), start.gradients, 0).zeroed;
}

Outcome run(const TrainingSetup& setup, const Way& way, int steps, const Beginning& start) {
  Outcome outcome;
  const auto failure = catch_failure([&] {
    const auto trainer = setup.trainer(way, setup.session.seed);
    const WatchedRun watched = watch(*trainer, steps, {});
    for (const auto& step : watched.steps) {
      (step.all_stepped() ? outcome.applied : outcome.skipped) += 1;
    }
    outcome.weights_lost = !watched.steps.back().weights_finite;
    outcome.bad_step = watched.bad_step;
    if (watched.before_bad) {
      const auto again = setup.trainer(way, setup.session.seed);
      again->restore(*watched.before_bad);
      outcome.first = trace_step(setup.session, *again).first;
    }
    outcome.zeroed = zeroed_share(setup, way, start);
  });
  if (failure) outcome.problem = failure->reason;
  return outcome;
}

Json to_json(const Outcome& outcome) {
  if (!outcome.problem.empty()) return {{"problem", outcome.problem}};
  Json json{{"applied", outcome.applied},
            {"skipped", outcome.skipped},
            {"weights_finite", !outcome.weights_lost},
            {"zeroed_share", outcome.zeroed}};
  if (outcome.bad_step) json["bad_step"] = *outcome.bad_step;
  if (outcome.first) json["first_bad"] = outcome.first->json;
  return json;
}

std::string with_first(const Outcome& outcome) {
  return outcome.first ? ": " + outcome.first->sentence : std::string();
}

std::string blame(const std::map<std::string, Outcome>& ways, const std::string& type) {
  const Outcome &fp32 = ways.at("fp32"), &autocast = ways.at("autocast"), &scaling = ways.at("scaling"),
                &both = ways.at("both");
  const auto forward = [](const Outcome& outcome) {
    return outcome.first && outcome.first->cls != "backward-gradient" &&
           outcome.first->cls != "parameter-update";
  };
  if (fp32.fails() || fp32.bad_step) {
    return "FP32 without autocast and scaling fails as well" + with_first(fp32) +
           ". Neither is to blame: change the model, the data or the learning rate";
  }
  if (scaling.fails()) {
    return "scaling alone, in FP32, fails as well" + with_first(scaling) +
           ". The scaler is to blame: look at its scale";
  }
  if (forward(autocast)) {
    return "autocast is to blame: the forward pass in " + type + " leaves the range" + with_first(autocast) +
           ". No scale heals that; keep that operator in FP32";
  }
  if (autocast.zeroed > both.zeroed + 0.01 && !both.fails()) {
    return "gradients underflow in " + type + " without a scaler (" + text(100 * autocast.zeroed) +
           " % of them are zero, with one " + text(100 * both.zeroed) + " %): scaling heals it";
  }
  if (autocast.first && autocast.first->cls == "backward-gradient") {
    return "the backward pass in " + type + " leaves the range without a scaler as well" +
           with_first(autocast) +
           ". Only a scale below 1 holds such gradients; a loss in other units needs none";
  }
  if (autocast.fails()) return "autocast alone fails" + with_first(autocast) + ". Autocast is to blame";
  if (both.fails()) {
    return "autocast alone and scaling alone both train; together they do not" + with_first(both) +
           ". The scale is too large for the gradients of " + type;
  }
  return "in " + std::to_string(both.applied + both.skipped) +
         " steps none of the five ways fails by itself: what fails here shows later, or in the quality alone";
}

}  // namespace

Isolation isolate(const TrainingSetup& setup, c10::ScalarType type, int steps) {
  const precision::Precision& fp32 = precision::baseline();
  const precision::Precision& autocast = of(precision::Mode::kAutocast, type);
  const std::pair<const char*, Way> ways[] = {{"fp32", {fp32, false}},
                                              {"autocast", {autocast, false}},
                                              {"scaling", {fp32, true}},
                                              {"both", {autocast, true}},
                                              {"cast", {of(precision::Mode::kCast, type), false}}};
  std::map<std::string, Outcome> outcomes;
  const Beginning start = beginning(setup);
  Isolation isolation;
  isolation.json = {{"steps", steps}, {"ways", Json::object()}};
  for (const auto& [name, way] : ways) {
    outcomes[name] = run(setup, way, steps, start);
    isolation.json["ways"][name] = to_json(outcomes[name]);
  }
  isolation.words = blame(outcomes, precision::type_name(type));
  isolation.json["in_words"] = isolation.words;
  return isolation;
}

}  // namespace ampgate::validate
