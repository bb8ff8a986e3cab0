#include "driver/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "driver/columns.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string applied(const Json& training) {
  const int made = training.at("applied").get<int>();
  return fmt::format("{} of {}", made, made + training.at("skipped").get<int>());
}

std::string scale(const Json& training) {
  if (!training.contains("scale")) return "-";
  const Json& scale = training["scale"];
  const auto first = results::number_from(scale.at("first")), last = results::number_from(scale.at("last"));
  return first == last ? fmt::format("{:g}", last) : fmt::format("{:g} to {:g}", first, last);
}

// The worst of the shadow steps.
std::string worst(const Json& training, const char* key, double factor, const char* unit) {
  double largest = 0;
  for (const auto& shadow : training.at("shadow"))
    largest = std::max(largest, results::number_from(shadow.at(key)));
  return fmt::format("{:.2g}{}", factor * largest, unit);
}

std::string quality(const Json& training) {
  if (!training.contains("quality")) return "-";
  const Json& quality = training["quality"];
  const Json& values = quality.contains("trial") ? quality["trial"] : quality.at("baseline");
  double sum = 0;
  for (const auto& value : values) sum += results::number_from(value);
  std::string text = fmt::format("{} {:.4g}", quality.at("metric").get<std::string>(),
                                 sum / static_cast<double>(values.size()));
  if (!quality.contains("limits")) return text;
  const double most = quality["limits"].at(1).get<double>();
  if (quality.at("metric") == "accuracy")
    return text + fmt::format(", loses at most {:.4f}", std::max(0.0, most));
  return text + fmt::format(", at most {:.4f} times fp32's", std::exp(most));
}

}  // namespace

std::string training_table(const Json& record, bool colour) {
  std::vector<std::vector<Cell>> rows;
  int seeds = 0;
  for (const auto& trial : record.at("trials")) {
    if (!trial.contains("training")) continue;
    const Json& training = trial["training"];
    seeds = std::max(seeds, training.value(Json::json_pointer("/quality/seeds"), 0));
    rows.push_back({{trial.at("id").get<std::string>()},
                    {applied(training)},
                    {scale(training)},
                    {worst(training, "gradient_error", 1, "")},
                    {worst(training, "zeroed_share", 100, " %")},
                    {quality(training)}});
  }
  if (rows.empty()) return "";
  std::string text = in_columns({{"training"},
                                 {"applied", true},
                                 {"scale", true},
                                 {"gradient error", true},
                                 {"gradients zeroed", true},
                                 {"held-out data"}},
                                rows, colour);
  text +=
      "A batch that passed proves no convergence: these verdicts hold for these inputs and this number of "
      "updates";
  if (seeds > 0) text += fmt::format(", their quality over {} seeds", seeds);
  return text + ". Scaling across several devices is not part of them.\n";
}

}  // namespace ampgate::driver
