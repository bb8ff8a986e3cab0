#include "results/compared_times.h"

#include <algorithm>
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

std::vector<Sample> by_turn(const std::vector<Sample>& samples, const Turns& turns) {
  std::vector<Sample> renumbered;
  for (Sample sample : samples) {
    const auto turn = turns.turn_of_process.find(sample.process);
    if (turn == turns.turn_of_process.end()) continue;
    sample.process = turn->second;
    renumbered.push_back(sample);
  }
  return renumbered;
}

bool took_turns(const TimedPair& pair) {
  if (pair.turns_a.series.empty() || pair.turns_a.series != pair.turns_b.series) return false;
  return std::any_of(
      pair.turns_a.turn_of_process.begin(), pair.turns_a.turn_of_process.end(), [&](const auto& of_a) {
        return std::any_of(pair.turns_b.turn_of_process.begin(), pair.turns_b.turn_of_process.end(),
                           [&](const auto& of_b) { return of_b.second == of_a.second; });
      });
}

}  // namespace

Turns recorded_turns(const Json& record, const std::string& mode) {
  Turns turns;
  for (const auto& process : record.value("bench", Json::object()).value("processes", Json::array())) {
    if (!process.contains("turn") || process.value("mode", kWarm) != (mode.empty() ? kWarm : mode)) continue;
    turns.series = process["turn"].at("series").get<std::string>();
    turns.turn_of_process[process.at("process").get<int>()] = process["turn"].at("number").get<int>();
  }
  return turns;
}

RecordedSamples recorded_samples(const Json& measurement, const std::string& mode) {
  RecordedSamples recorded;
  std::vector<Row> rows;
  int disturbed = 0;
  std::string example;
  for (const auto& row : measurement.value("samples", Json::array())) {
    const Json more = row.size() > 5 ? row[5] : Json::object();
    const bool left_out = more.value("left_out", false);
    if (left_out && mode != "sustained") continue;
    rows.push_back({.process = row.at(0).get<int>(),
                    .block = row.at(1).get<int>(),
                    .calls = row.at(3).get<std::int64_t>(),
                    .time_ns = row.at(4).get<double>(),
                    .more = more});
    if (left_out) continue;  // of a sustained run: its time counts for what is its second half
    recorded.samples.push_back(sample_of(rows.back()));
    if (!more.contains("disturbed")) continue;
    ++disturbed;
    example = more["disturbed"].get<std::string>();
  }
  if (mode == "sustained") recorded.samples = steady(rows);
  if (disturbed > 0) {
    recorded.undecided = std::to_string(disturbed) + " of " + std::to_string(rows.size()) +
                         " cells were disturbed (" + example + ")";
  }
  return recorded;
}

Estimate time_ratio(const TimedPair& pair, double level) {
  const auto& [a, b, turns_a, turns_b] = pair;
  Estimate ratio = took_turns(pair)
                       ? turns_ratio(by_turn(b.samples, turns_b), by_turn(a.samples, turns_a), level)
                       : unpaired_ratio(b.samples, a.samples, level);
  if (!ratio.interval || (a.undecided.empty() && b.undecided.empty())) return ratio;
  ratio.interval.reset();
  ratio.method = "no interval: ";
  if (!a.undecided.empty()) ratio.method += "of A, " + a.undecided;
  if (!a.undecided.empty() && !b.undecided.empty()) ratio.method += "; ";
  if (!b.undecided.empty()) ratio.method += "of B, " + b.undecided;
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

Json compared_times(const TimedPair& pair, double level, double tolerance) {
  const Estimate ratio = time_ratio(pair, level);
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
  json["in_turns"] = took_turns(pair);
  json["method"] = ratio.method;
  json["in_words"] = time_words(ratio);
  return json;
}

}  // namespace ampgate::results
