#include "driver/modes_table.h"

#include <fmt/format.h>

#include <vector>

#include "driver/columns.h"
#include "driver/table.h"
#include "driver/words.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string percentile(const Json& latency, const char* name) {
  return latency.contains(name) ? time_words(latency[name].at("value").get<double>()) : "-";
}

// What the mode was measured for.
std::string detail(const Json& measurement) {
  if (measurement.contains("latency")) {
    const Json& latency = measurement["latency"];
    return fmt::format("p50 {}, p90 {}, p99 {} of {} calls", percentile(latency, "p50_ns"),
                       percentile(latency, "p90_ns"), percentile(latency, "p99_ns"),
                       latency.at("calls").get<int>());
  }
  if (measurement.contains("sustained")) {
    const Json& sustained = measurement["sustained"];
    std::string text = fmt::format("after {:.1f} s timed {:+.1f} % against its first tenth",
                                   sustained.at("time_s").get<double>(),
                                   100 * (sustained.at("steady_to_first").get<double>() - 1));
    if (sustained.contains("energy_per_call_j"))
      text += fmt::format(", {:.3g} J a call", sustained["energy_per_call_j"].get<double>());
    return text;
  }
  return fmt::format("{:.3g} page faults a call", measurement.value("page_faults_per_call", 0.0));
}

std::vector<Cell> row(const Json& trial, const std::string& mode, const Json& measurement) {
  const auto verdict = measurement.at("verdict").get<std::string>();
  std::vector<Cell> cells{
      {trial.at("id").get<std::string>()}, {mode}, {"-"}, {"-"}, {verdict, colour_of(verdict)}};
  if (!measurement.contains("time_ns")) return cells;
  cells[2].text = median_words(measurement);
  if (has_speedup(measurement))
    cells[3].text = ratio_words(measurement["speedup_over_fp32"].at("value").get<double>()) + "x";
  cells.push_back({detail(measurement)});
  return cells;
}

std::string rate_words(const Json& ceiling, const char* unit) {
  return three_digits(ceiling.at("value").get<double>()) + " " + unit;
}

}  // namespace

std::string modes_table(const Json& record, bool colour) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& trial : record.at("trials")) {
    const Json variants = trial.value("variants", Json::object());
    for (const auto& [mode, measurement] : variants.items()) rows.push_back(row(trial, mode, measurement));
  }
  if (rows.empty()) return "";
  return in_columns(
      {{"trial"}, {"mode"}, {"median time", true}, {"speed-up", true}, {"measurement"}, {"more"}}, rows,
      colour);
}

std::string ceilings_line(const Json& record) {
  if (!record.contains("ceilings")) return "";
  const Json& ceilings = record["ceilings"];
  std::string text = fmt::format(
      "Ceilings in this run: read {}, write {}, copy {}", rate_words(ceilings.at("read_gbps"), "GB/s"),
      rate_words(ceilings.at("write_gbps"), "GB/s"), rate_words(ceilings.at("copy_gbps"), "GB/s"));
  for (const auto& [format, ceiling] : ceilings.at("matmul_tflops").items())
    text += fmt::format(", products in {} {}", format, tflops_words(ceiling.at("value").get<double>()));
  std::string disturbed =
      ceilings.at("copy_gbps").contains("disturbed") ? "reading, writing and copying" : "";
  for (const auto& [format, ceiling] : ceilings.at("matmul_tflops").items()) {
    if (ceiling.contains("disturbed"))
      disturbed += (disturbed.empty() ? "" : ", ") + ("products in " + format);
  }
  if (disturbed.empty()) return text + ".\n";
  return text + ". Other work disturbed " + disturbed + ": no share of these is given.\n";
}

std::string disturbed_line(const Json& record) {
  int blocks = 0, left_out = 0;
  std::string example;
  const auto add = [&](const Json& measurement) {
    const Json disturbed = measurement.value("disturbed", Json::object());
    blocks += disturbed.value("blocks", 0);
    left_out += disturbed.value("left_out", 0);
    if (example.empty()) example = disturbed.value("example", "");
  };
  for (const auto& trial : record.at("trials")) {
    const Json variants = trial.value("variants", Json::object());
    // Blocks are disturbed for all precisions together, but where each of them runs alone.
    const bool first = trial.at("precision") == "fp32";
    if (first) add(trial.value("measurement", Json::object()));
    for (const auto& [mode, variant] : variants.items()) {
      if (first || mode == "sustained") add(variant);
    }
  }
  if (blocks == 0) return "";
  return fmt::format("Disturbed blocks: {}, of which {} are kept out of the numbers (the first: {}).\n",
                     blocks, left_out, example);
}

}  // namespace ampgate::driver
