// What a record holds of the steps of a watched training.
#include <cmath>
#include <cstdio>

#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using results::Json;

// Seven digits, as FP32 has them: records stay readable.
Json short_number(double value) {
  if (!std::isfinite(value)) return results::number(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::stod(text);
}

// By optimizer; null: its step was not called.
Json stepped_json(const StepReport& step) {
  Json json = Json::array();
  for (std::size_t i = 0; i < step.stepped.size(); ++i)
    json.push_back(step.called[i] ? Json(static_cast<bool>(step.stepped[i])) : Json());
  return json;
}

}  // namespace

Json to_json(const WatchedRun& run) {
  Json json;
  for (const auto* key : {"loss", "scale", "growth_tracker", "stepped", "learning_rate", "scaled_nonfinite",
                          "nonfinite", "weights"})
    json[key] = Json::array();
  for (const auto& step : run.steps) {
    json["loss"].push_back(short_number(step.loss));
    json["scale"].push_back(results::number(step.scale));
    json["growth_tracker"].push_back(step.growth_tracker);
    json["stepped"].push_back(stepped_json(step));
    json["learning_rate"].push_back(step.learning_rates);
    json["scaled_nonfinite"].push_back(step.scaled_nonfinite);
    json["nonfinite"].push_back(step.nonfinite);
    json["weights"].push_back(step.weights);
  }
  json["gradients"] = Json::object();
  for (std::size_t i = 0; i < run.parameters.size(); ++i) {
    Json& rows = json["gradients"][run.parameters[i]] = Json::array();
    for (const auto& step : run.steps) {
      rows.push_back(Json::array());
      if (const auto& stats = step.gradients.at(i))
        rows.back() = {short_number(stats->norm), short_number(stats->largest), short_number(stats->zeros)};
    }
  }
  return json;
}

}  // namespace ampgate::validate
