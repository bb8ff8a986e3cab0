#include "results/sustained.h"

#include <algorithm>

#include "results/series.h"

namespace ampgate::results {
namespace {

double median_of(const std::vector<Sample>& samples) {
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time_ns);
  return median(std::move(times));
}

// The value at the beginning, the one at the end, and the extremes.
Json course(const std::vector<double>& values) {
  return {{"first", values.front()},
          {"last", values.back()},
          {"least", *std::min_element(values.begin(), values.end())},
          {"most", *std::max_element(values.begin(), values.end())},
          {"samples", values.size()}};
}

}  // namespace

std::vector<Sample> steady(const std::vector<Row>& rows) {
  double total = 0;
  for (const Row& row : rows) total += row.time_ns;
  std::vector<Sample> samples;
  double before = 0;
  for (const Row& row : rows) {
    if (before >= total / 2 && !row.more.value("left_out", false)) samples.push_back(sample_of(row));
    before += row.time_ns;
  }
  if (samples.empty() && !rows.empty()) samples.push_back(sample_of(rows.back()));
  return samples;
}

Json sustained(const std::vector<Row>& rows, const Json& answer) {
  double total = 0;
  std::vector<Sample> first;
  for (const Row& row : rows) total += row.time_ns;
  double before = 0;
  for (const Row& row : rows) {
    const bool calm = !row.more.value("left_out", false);
    if (calm && (first.empty() || before < total / 10)) first.push_back(sample_of(row));
    before += row.time_ns;
  }
  const double steady_ns = median_of(steady(rows));
  Json json{{"time_s", total * 1e-9},
            {"first_tenth_median_ns", median_of(first)},
            {"steady_to_first", steady_ns / median_of(first)}};
  for (const auto* name : {"clock_mhz", "power_w", "temperature_c"}) {
    std::vector<double> values;
    for (const Row& row : rows) {
      const auto device = row.more.find("device");
      if (device != row.more.end() && device->contains(name))
        values.push_back(device->at(name).get<double>());
    }
    if (values.empty()) {
      json["absent"][name] = "the device does not tell";
    } else {
      json[name] = course(values);
    }
  }
  if (answer.contains("energy_j")) {
    json["energy_per_call_j"] = answer["energy_j"].get<double>() / answer.at("energy_calls").get<double>();
  } else {
    json["absent"]["energy_per_call_j"] = "the device has no energy counter that this process may read";
  }
  return json;
}

}  // namespace ampgate::results
