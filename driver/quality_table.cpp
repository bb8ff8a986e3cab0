#include "driver/quality_table.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "driver/columns.h"

namespace ampgate::driver {
namespace {

using results::Json;

struct Quality {
  std::string reached = "-";
  std::string against_fp32 = "-";
};

Quality accuracy(const Json& accuracy) {
  const double trial = accuracy.at("trial").get<double>();
  const double gain = (trial - accuracy.at("baseline").get<double>()) * accuracy.at("rows").get<double>();
  const auto rows = std::lround(gain);
  return {fmt::format("accuracy {:.4f}", trial), rows == 0 ? "as fp32" : fmt::format("{:+d} right", rows)};
}

Quality rms_error(const Json& against_targets) {
  const double trial = results::number_from(against_targets.at("trial").at("rmse"));
  const double baseline = results::number_from(against_targets.at("baseline").at("rmse"));
  return {fmt::format("RMS error {:.4g}", trial),
          trial == baseline ? "as fp32" : fmt::format("{:.4f} times fp32's", trial / baseline)};
}

Quality quality_of(const Json& decisions) {
  if (decisions.contains("accuracy")) return accuracy(decisions["accuracy"]);
  if (decisions.contains("regression")) return rms_error(decisions["regression"].at("against_targets"));
  return {};
}

std::vector<Cell> row(const Json& trial, const Json& decisions) {
  const bool decides = decisions.contains("kind");
  const Json& counted = decides ? decisions : decisions.at("regression");
  const bool is_fp32 = trial.at("precision") == "fp32";
  const auto [reached, against_fp32] = quality_of(decisions);
  std::vector<Cell> cells{{trial.at("id").get<std::string>()},
                          {fmt::format("{}", counted.at("rows").get<std::int64_t>())},
                          {reached},
                          {is_fp32 ? "-" : against_fp32}};
  if (!decides) return cells;
  const auto lost = decisions.at("lost").get<std::int64_t>();
  const auto unexplained = decisions.at("defects").get<std::int64_t>() + lost;
  cells.push_back({fmt::format("{}", decisions.at("flips").get<std::int64_t>() + lost)});
  cells.push_back({fmt::format("{}", unexplained), unexplained > 0 ? Colour::kRed : Colour::kNone});
  return cells;
}

}  // namespace

std::string quality_table(const Json& record, bool colour) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& trial : record.at("trials")) {
    const Json decisions = trial.value("decisions", Json::object());
    if (decisions.contains("kind") || decisions.contains("regression")) rows.push_back(row(trial, decisions));
  }
  if (rows.empty()) return "";
  return in_columns({{"on its data"},
                     {"rows", true},
                     {"quality"},
                     {"against fp32"},
                     {"decisions changed", true},
                     {"not explained by rounding", true}},
                    rows, colour);
}

}  // namespace ampgate::driver
