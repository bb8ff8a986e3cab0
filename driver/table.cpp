#include "driver/table.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "driver/columns.h"
#include "driver/words.h"
#include "results/exit_code.h"

namespace ampgate::driver {
namespace {

using results::Json;

// The first ones: what phase 1 says.
constexpr std::size_t kJudged = 5;

std::vector<Column> columns() {
  return {{"case"},       {"shape"},          {"precision"},
          {"verdict"},    {"margin", true},   {"median time", true},
          {"rate", true}, {"speed-up", true}, {"memory", true},
          {"measurement"}};
}

std::string margin(const Json& trial) {
  const Json accuracy = trial.value("accuracy", Json::object());
  const Json kernel = accuracy.value("kernel_error", Json());  // null where nothing was compared
  const auto found = kernel.find("margin");
  if (found == kernel.end()) return "-";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? fmt::format("{:.2f}", found->get<double>()) : "-";
}

// "  45%": of what the device reached in plain work; nothing where that was not measured. Caches are no part
// of what memory can do.
std::string share(const Json& rate, bool in_cache) {
  if (!rate.contains("share_of_ceiling")) return "      ";
  const double share = rate["share_of_ceiling"].get<double>();
  return in_cache && share > 1 ? " cache" : fmt::format(" {:4.0f}%", 100 * share);
}

std::string rate(const Json& measurement) {
  if (measurement.contains("tflops")) {
    const Json& tflops = measurement["tflops"];
    const double value = tflops.at("value");
    return tflops_words(value) + share(tflops, false);
  }
  if (!measurement.contains("gbps")) return "-";
  const bool in_cache = measurement.value(Json::json_pointer("/roofline/in_cache"), false);
  return three_digits(measurement["gbps"].at("value")) + " GB/s" + share(measurement["gbps"], in_cache);
}

std::vector<Cell> row(const Json& trial, bool measures) {
  std::vector<Cell> cells(kJudged, {"-"});
  const auto verdict = trial.at("verdict").get<std::string>();
  cells[0].text = trial.at("case");
  cells[1].text = trial.at("shape").at("name");
  cells[2].text = trial.at("precision");
  if (trial.value("not_lowered", false)) cells[2].text += ", not lowered";
  cells[3] = {verdict, colour_of(verdict)};
  cells[4].text = margin(trial);
  if (!measures) return cells;
  cells.resize(columns().size(), {"-"});
  if (!trial.contains("measurement")) return cells;
  const Json& measurement = trial.at("measurement");
  const auto measured = measurement.at("verdict").get<std::string>();
  cells[9] = {measured, colour_of(measured)};
  if (!measurement.contains("time_ns")) return cells;
  cells[5].text = median_words(measurement);
  cells[6].text = rate(measurement);
  if (has_speedup(measurement)) {
    cells[7].text = ratio_words(measurement["speedup_over_fp32"].at("value").get<double>()) + "x";
  }
  if (measurement.contains("memory") && measurement["memory"].contains("peak_bytes")) {
    cells[8].text = bytes_words(measurement["memory"]["peak_bytes"].get<double>());
  }
  return cells;
}

}  // namespace

// "1.23 ms ±2.1%": the interval's half width in percent of the median.
bool has_speedup(const Json& measurement) {
  const auto speedup = measurement.find("speedup_over_fp32");
  return speedup != measurement.end() && speedup->contains("interval") &&
         !speedup->value("not_lowered", false);
}

std::string median_words(const Json& measurement, const char* key) {
  const Json& time = measurement.at(key);
  const double value = time.at("median").get<double>();
  std::string text = time_words(value);
  if (!time.contains("interval")) return text + " (no interval)";
  const double half = (time["interval"][1].get<double>() - time["interval"][0].get<double>()) / 2;
  constexpr double kNothing = 10.0;  // an interval wider than that says nothing about the value
  return half > kNothing * value ? text + " ±>999%" : text + fmt::format(" ±{:4.1f}%", 100 * half / value);
}

std::string table(const Json& record, bool colour) {
  const bool measures = record.contains("bench");
  auto heads = columns();
  if (!measures) heads.resize(kJudged);
  std::vector<std::vector<Cell>> rows;
  for (const auto& trial : record.at("trials")) {
    if (!results::is_needless(trial)) rows.push_back(row(trial, measures));
  }
  return in_columns(heads, rows, colour);
}

}  // namespace ampgate::driver
