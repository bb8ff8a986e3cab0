#include "results/compared_times.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "results/samples.h"
#include "results/sustained.h"

namespace ampgate::results {
namespace {

// Percent say little about what is twice as long, or half.
bool is_large(double ratio) { return ratio >= 2 || ratio <= 0.5; }

// "3.1 % longer", "0.5 % less", "2.5 times as long"
std::string change(double ratio) {
  char text[48];
  if (is_large(ratio)) {
    std::snprintf(text, sizeof text, "%.3g times as long", ratio);
  } else {
    const double percent = 100 * std::abs(ratio - 1);
    std::snprintf(text, sizeof text, "%.*f %% %s", percent < 9.95 ? 1 : 0, percent,
                  ratio < 1 ? "less" : "longer");
  }
  return text;
}

std::size_t disturbed(const RecordedSamples& samples) { return samples.all.size() - samples.calm.size(); }

}  // namespace

RecordedSamples recorded_samples(const Json& measurement, const std::string& mode) {
  RecordedSamples samples;
  std::vector<Row> rows;
  for (const auto& row : measurement.value("samples", Json::array())) {
    const Json more = row.size() > 5 ? row[5] : Json::object();
    if (more.value("left_out", false)) continue;
    rows.push_back({.process = row.at(0).get<int>(),
                    .block = row.at(1).get<int>(),
                    .calls = row.at(3).get<std::int64_t>(),
                    .time_ns = row.at(4).get<double>()});
    samples.all.push_back(sample_of(rows.back()));
    if (more.contains("disturbed")) {
      samples.example = more["disturbed"].get<std::string>();
    } else {
      samples.calm.push_back(samples.all.back());
    }
  }
  if (mode == "sustained") samples.all = samples.calm = steady(rows);
  return samples;
}

Estimate time_ratio(const RecordedSamples& a, const RecordedSamples& b, double level) {
  if (!a.calm.empty() && !b.calm.empty()) {
    Estimate calm = unpaired_ratio(b.calm, a.calm, level);
    if (calm.interval || (a.example.empty() && b.example.empty())) return calm;
  }
  Estimate ratio = unpaired_ratio(b.all, a.all, level);
  if (!ratio.interval) return ratio;
  ratio.interval.reset();
  const auto count = [](const RecordedSamples& samples) {
    return std::to_string(disturbed(samples)) + " of " + std::to_string(samples.all.size());
  };
  ratio.method = "no interval: " + count(a) + " cells of A and " + count(b) + " of B were disturbed (" +
                 (b.example.empty() ? a.example : b.example) + ")";
  return ratio;
}

std::string time_verdict(const Estimate& ratio, double tolerance) {
  if (!ratio.interval) return "ambiguous";
  const double above = 1 + tolerance;
  const double below = 1 / above;  // so that B against A mirrors A against B
  if (ratio.interval->low > above) return "slower";
  if (ratio.interval->high < below) return "faster";
  return ratio.interval->low >= below && ratio.interval->high <= above ? "same" : "ambiguous";
}

std::string time_words(const Estimate& ratio) {
  const std::string text = "B takes " + change(ratio.value) +
                           (is_large(ratio.value) ? " as A"
                            : ratio.value < 1     ? " time than A"
                                                  : " than A");
  if (!ratio.interval) return text + "; " + ratio.method;
  return text + " (from " + change(ratio.interval->low) + " to " + change(ratio.interval->high) + ")";
}

double simultaneous_level(double chance, std::size_t comparisons) {
  if (!(chance > 0 && chance < 0.5) || comparisons < 1) {
    throw std::invalid_argument("a level for no comparison, or for a chance outside (0, 1/2)");
  }
  return 1 - 2 * chance / static_cast<double>(comparisons);
}

Json compared_times(const RecordedSamples& a, const RecordedSamples& b, double level, double tolerance) {
  const Estimate ratio = time_ratio(a, b, level);
  Json json{{"verdict", time_verdict(ratio, tolerance)}, {"ratio", ratio.value}};
  if (ratio.interval) {
    json["interval"] = {ratio.interval->low, ratio.interval->high};
  } else {
    json["absent"] = {{"interval", ratio.method}};
  }
  json["level"] = level;
  json["tolerance"] = tolerance;
  json["samples"] = ratio.samples;
  json["processes"] = ratio.processes;
  if (disturbed(a) + disturbed(b) > 0) json["disturbed"] = {{"a", disturbed(a)}, {"b", disturbed(b)}};
  json["method"] = ratio.method;
  json["in_words"] = time_words(ratio);
  return json;
}

}  // namespace ampgate::results
