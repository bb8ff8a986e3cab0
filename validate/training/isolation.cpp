#include "validate/training/isolation.h"

#include <algorithm>
#include <map>

#include "validate/text.h"
#include "validate/training/final_quality.h"
#include "validate/training/isolated_way.h"

namespace ampgate::validate {
namespace {

using results::Json;
using Kind = Trouble::Kind;
using Ways = std::map<std::string, WayOutcome>;

const precision::Precision& of(precision::Mode mode, c10::ScalarType type) {
  const auto all = precision::all();
  return *std::find_if(all.begin(), all.end(), [&](const precision::Precision& precision) {
    return precision.mode == mode && precision.type == type && !precision.islands && !precision.tf32;
  });
}

Beginning beginning(const TrainingSetup& setup, const Trouble& trouble) {
  const auto fresh = setup.trainer({precision::baseline(), false}, setup.session.seed);
  Beginning start{trouble.state ? *trouble.state : fresh->save(), {}, {}};
  if (trouble.kind != Kind::kQuality) {
    const auto oracle = setup.oracle(setup.session.seed);
    start.gradients = unscaled_gradients(*oracle, start.state);
    return start;
  }
  for (int step = 0; step < setup.session.rules.training.updates; ++step) fresh->run_step();
  start.quality = quality_of(setup, *fresh, setup.session.seed).value;
  return start;
}

std::string percent(double share) { return text(100 * share) + " %"; }

// What is known of a failure beside its operator.
std::string with_cause(const WayOutcome& outcome) {
  if (!outcome.problem.empty()) return ": " + outcome.problem;
  if (outcome.first) return ": " + outcome.first->sentence;
  if (outcome.swallowed)
    return " (" + outcome.reason + "), where a bad value is swallowed: " + outcome.swallowed->sentence;
  return outcome.reason.empty() ? "" : ": " + outcome.reason;
}

bool in_forward(const WayOutcome& outcome) {
  return outcome.first && outcome.first->cls != "backward-gradient" &&
         outcome.first->cls != "parameter-update";
}

bool in_backward(const WayOutcome& outcome) {
  return outcome.first && outcome.first->cls == "backward-gradient";
}

std::string underflow_words(const WayOutcome& autocast, const WayOutcome& both, const std::string& type) {
  return "gradients underflow in " + type + " without a scaler (" + percent(autocast.underflow()) +
         " of them are zero, with one " + percent(both.underflow()) + "): scaling heals it";
}

// The trial's own way fails again, and FP32 and scaling alone do not.
std::string blame_autocast(const Ways& ways, bool scaler, const std::string& type) {
  const WayOutcome &autocast = ways.at("autocast"), &both = ways.at("both");
  const WayOutcome& own = scaler ? both : autocast;
  if (in_forward(autocast)) {
    return "autocast is to blame: the forward pass in " + type + " leaves the range" + with_cause(autocast) +
           ". No scale heals that; keep that operator in FP32";
  }
  if (!scaler && !both.fails() && autocast.underflow() > both.underflow() + 0.01)
    return underflow_words(autocast, both, type);
  if (scaler && !autocast.fails()) {
    return "autocast alone and scaling alone both train; together they do not" + with_cause(both) +
           ". The scale is too large for the gradients of " + type;
  }
  if (in_backward(autocast)) {
    return "the backward pass in " + type + " leaves the range without a scaler as well" +
           with_cause(autocast) +
           ". Only a scale below 1 holds such gradients; a loss in other units needs none";
  }
  if (scaler && own.underflow() > 0.01) {
    return "gradients underflow in " + type + " although they are scaled (" + percent(own.underflow()) +
           " of them are zero, without a scaler " + percent(autocast.underflow()) +
           "): autocast is to blame, their range is too wide for " + type;
  }
  return "autocast is to blame" + with_cause(own) +
         (scaler ? ". Scaling alone does not fail, and autocast alone fails as well" : "");
}

std::string quality_list(const TrainingSetup& setup, const Ways& ways) {
  const QualityMetric metric(setup);
  std::string list;
  for (const auto& [name, outcome] : ways) {
    list += list.empty() ? "" : ", ";
    list += name + " " + (outcome.quality ? metric.words(*outcome.quality) : outcome.problem);
    if (outcome.skipped > 0) list += " with " + std::to_string(outcome.skipped) + " steps skipped";
  }
  return list;
}

// Over one seed: it points, it proves nothing.
std::string blame_for_quality(const TrainingSetup& setup, const Ways& ways, bool scaler,
                              const std::string& type) {
  const std::string list =
      " (seed " + std::to_string(setup.session.seed) + " alone: " + quality_list(setup, ways) + ")";
  if (ways.at("scaling").fails())
    return "scaling alone, in FP32, loses quality as well: the scaler is to blame" + list;
  if (!(scaler ? ways.at("both") : ways.at("autocast")).fails())
    return "with the first seed alone none of the five ways loses more than the margin: it is lost on "
           "average" +
           list;
  if (scaler && !ways.at("autocast").fails())
    return "autocast alone and scaling alone keep the quality; together they do not" + list;
  return "autocast is to blame: training in " + type + " loses the quality, and scaling alone does not" +
         list;
}

std::string blame(const Ways& ways, const Trouble& trouble, bool scaler, const std::string& type) {
  const WayOutcome &fp32 = ways.at("fp32"), &scaling = ways.at("scaling"), &autocast = ways.at("autocast"),
                   &both = ways.at("both");
  if (fp32.fails()) {
    return "FP32 without autocast and scaling fails as well" + with_cause(fp32) +
           ". Neither is to blame: change the model, the data or the learning rate";
  }
  if (scaling.fails()) {
    return "scaling alone, in FP32, fails as well" + with_cause(scaling) +
           ". The scaler is to blame: look at its scale";
  }
  if ((scaler ? both : autocast).fails()) return blame_autocast(ways, scaler, type);
  std::string words =
      "taken again, " + std::to_string(trouble.steps) + " steps from step " +
      std::to_string(trouble.state ? trouble.state->state.at("iteration").get<std::int64_t>() : 0) +
      " on do not fail in this precision: what failed shows over the whole training alone";
  if (scaler && autocast.underflow() > both.underflow() + 0.01)
    words += ". Beside it: " + underflow_words(autocast, both, type);
  return words;
}

}  // namespace

Isolation isolate(const TrainingSetup& setup, const Way& trial, const Trouble& trouble) {
  const c10::ScalarType type = trial.precision.type;
  const precision::Precision& fp32 = precision::baseline();
  const precision::Precision& autocast = of(precision::Mode::kAutocast, type);
  const std::pair<const char*, Way> all[] = {{"fp32", {fp32, false}},
                                             {"autocast", {autocast, false}},
                                             {"scaling", {fp32, true}},
                                             {"both", {autocast, true}},
                                             {"cast", {of(precision::Mode::kCast, type), false}}};
  const Beginning start = beginning(setup, trouble);
  const bool whole = trouble.kind == Kind::kQuality;
  Isolation isolation;
  isolation.json = {{"first_step", start.state.state.at("iteration")},
                    {"steps", whole ? setup.session.rules.training.updates : trouble.steps},
                    {"ways", Json::object()}};
  Ways ways;
  for (const auto& [name, way] : all) {
    ways[name] = try_way(setup, way, trouble, start);
    isolation.json["ways"][name] = to_json(ways[name]);
  }
  const std::string type_name = precision::type_name(type);
  isolation.words = whole ? blame_for_quality(setup, ways, trial.scaler, type_name)
                          : blame(ways, trouble, trial.scaler, type_name);
  isolation.json["in_words"] = isolation.words;
  return isolation;
}

}  // namespace ampgate::validate
