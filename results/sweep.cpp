#include "results/sweep.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "results/growth.h"
#include "results/samples.h"

namespace ampgate::results {
namespace {

// One size of one case in one precision.
struct Point {
  std::int64_t size = 0;
  std::string shape;
  double tensor_bytes = 0;
  double output_bytes = 0;            // 0: not known
  const Json* trial = nullptr;        // null: it was not run
  const Json* measurement = nullptr;  // null: it has no time
};

const Json* find_trial(const Json& trials, const std::string& id) {
  const auto found =
      std::find_if(trials.begin(), trials.end(), [&](const Json& trial) { return trial.at("id") == id; });
  return found == trials.end() ? nullptr : &*found;
}

std::vector<Point> points_of(const Json& plan, const Json& trials, const std::string& name,
                             const std::string& precision) {
  std::vector<Point> points;
  for (const auto& entry : plan.at("points")) {
    if (entry.at("case") != name || !entry.contains("tensor_bytes")) continue;
    Point point;
    point.size = entry.at("size").get<std::int64_t>();
    point.shape = entry.at("shape").get<std::string>();
    point.tensor_bytes = entry.at("tensor_bytes").value(precision, 0.0);
    point.output_bytes = entry.at("output_bytes").value(precision, 0.0);
    point.trial = find_trial(trials, name + "/" + point.shape + "/" + precision);
    if (point.trial != nullptr && point.trial->contains("measurement") &&
        point.trial->at("measurement").contains("time_ns"))
      point.measurement = &point.trial->at("measurement");
    points.push_back(std::move(point));
  }
  return points;
}

double peak_of(const Point& point) {
  if (point.measurement == nullptr || !point.measurement->contains("memory")) return 0;
  return point.measurement->at("memory").value("peak_bytes", 0.0);
}

// The order of blocks says nothing about an exponent, so that is left out.
Json exponent_json(const Estimate& estimate, double level) {
  Json json{{"value", estimate.value}};
  if (estimate.interval) {
    json["interval"] = {estimate.interval->low, estimate.interval->high};
  } else {
    json["absent"] = {{"interval", estimate.method}};
  }
  json.update({{"level", level},
               {"mad", estimate.mad},
               {"samples", estimate.samples},
               {"processes", estimate.processes},
               {"method", estimate.method}});
  return json;
}

// Sizes take their blocks at different times, so block 3 of one has nothing to do with block 3 of another;
// numbered anew, those that disturbances left are paired by their order.
std::vector<Sample> numbered(std::vector<Sample> samples) {
  std::map<int, int> next;
  for (Sample& sample : samples) sample.block = next[sample.process]++;
  return samples;
}

void add_time(Json& result, const RunData& run, const std::vector<Point>& points, double level) {
  std::vector<SizedSamples> sized;
  std::vector<double> sizes, times;
  std::string unclear;
  for (const auto& point : points) {
    if (point.measurement == nullptr) continue;
    if (point.measurement->at("verdict") == "ambiguous" && unclear.empty())
      unclear = point.trial->at("id").get<std::string>();
    sizes.push_back(static_cast<double>(point.size));
    result["sizes"].push_back(point.size);
    times.push_back(point.measurement->at("time_ns").at("median").get<double>());
    sized.push_back({sizes.back(),
                     numbered(select_samples(run, point.trial->at("id").get<std::string>(), kWarm).samples)});
  }
  try {
    if (sizes.size() < 2) throw std::invalid_argument("growth needs two measured sizes at least");
    Estimate exponent = growth_exponent(sized, level);
    if (!unclear.empty()) {
      exponent.interval.reset();
      exponent.method = "no interval, since the time of " + unclear + " is not clear";
    }
    result["time_exponent"] = exponent_json(exponent, level);
    result["time_largest_deviation"] = largest_deviation(sizes, times);
  } catch (const std::invalid_argument& error) {
    result["absent"]["time_exponent"] = error.what();
    result["absent"]["time_largest_deviation"] = error.what();
  }
}

// Exact counts: no interval.
void add_memory(Json& result, const std::vector<Point>& points) {
  std::vector<double> sizes, peaks;
  for (const auto& point : points) {
    if (!(peak_of(point) > 0)) continue;
    sizes.push_back(static_cast<double>(point.size));
    peaks.push_back(peak_of(point));
  }
  if (sizes.size() < 2) {
    result["absent"]["memory_exponent"] =
        "fewer than two sizes whose calls allocate memory that was measured";
  } else {
    result["memory_exponent"] = log_slope(sizes, peaks);
  }
}

// Where intervals of the speed-up over fp32 lie above 1.
void add_pays(Json& result, const std::vector<Point>& points, const std::string& precision) {
  std::vector<const Point*> compared;
  std::vector<bool> faster;
  bool lowered = false;
  int unclear = 0;
  for (const auto& point : points) {
    if (point.measurement == nullptr || !point.measurement->contains("speedup_over_fp32")) continue;
    const Json& speedup = point.measurement->at("speedup_over_fp32");
    if (!speedup.contains("interval")) {
      ++unclear;
      continue;
    }
    lowered = lowered || !point.trial->value("not_lowered", false);
    compared.push_back(&point);
    faster.push_back(speedup.at("interval").at(0).get<double>() > 1.0);
  }
  if (precision == "fp32" || compared.empty() || !lowered) {
    result["absent"]["pays"] = precision == "fp32" ? "the others are compared with it"
                               : compared.empty()  ? "no size has a speed-up with an interval"
                                                   : "autocast left every operator in FP32";
    return;
  }
  const auto first = std::find(faster.begin(), faster.end(), true);
  const auto rest = std::find(first, faster.end(), false);
  const bool again = std::find(rest, faster.end(), true) != faster.end();
  Json& pays = result["pays"];
  if (first == faster.end()) {
    pays = {{"where", "never"}};
  } else if (again) {
    pays = {{"where", "mixed"}};
  } else if (rest != faster.end()) {
    const Point& last = *compared[static_cast<std::size_t>(rest - faster.begin()) - 1];
    pays = {{"where", "up-to"}, {"size", last.size}, {"shape", last.shape}};
  } else {
    const Point& point = *compared[static_cast<std::size_t>(first - faster.begin())];
    pays = {
        {"where", first == faster.begin() ? "always" : "from"}, {"size", point.size}, {"shape", point.shape}};
  }
  if (unclear > 0) pays["unclear_sizes"] = unclear;
}

// Tensors of this precision and what a call needs beside them. Of a size that was not run, the peak of a call
// is taken to grow like its outputs, from the largest size that was.
void add_largest(Json& result, const std::vector<Point>& points, const Json& available) {
  const Point* measured = nullptr;
  for (const auto& point : points) {
    if (peak_of(point) > 0 && point.output_bytes > 0) measured = &point;
  }
  if (measured == nullptr || !available.is_number()) {
    result["absent"]["largest_that_fits"] = available.is_number()
                                                ? "the memory of no size was measured"
                                                : "the system does not say how much memory there is";
    return;
  }
  const double of_outputs = peak_of(*measured) / measured->output_bytes;
  const Point* largest = nullptr;
  double needed = 0;
  bool all = true;
  for (const auto& point : points) {
    const double peak = peak_of(point) > 0 ? peak_of(point) : point.output_bytes * of_outputs;
    if (point.output_bytes <= 0 || point.tensor_bytes + peak > available.get<double>()) {
      all = false;
      break;
    }
    largest = &point;
    needed = point.tensor_bytes + peak;
  }
  if (largest == nullptr) {
    result["absent"]["largest_that_fits"] = "not even the smallest size fits";
    return;
  }
  result["largest_that_fits"] = {{"size", largest->size},
                                 {"shape", largest->shape},
                                 {"needed_bytes", needed},
                                 {"predicted", peak_of(*largest) <= 0},
                                 {"at_least", all}};
}

Json precision_section(const RunData& run, const std::vector<Point>& points, const std::string& precision,
                       const Json& available, double level) {
  Json result{{"precision", precision}, {"sizes", Json::array()}, {"absent", Json::object()}};
  add_time(result, run, points, level);
  add_memory(result, points);
  add_pays(result, points, precision);
  add_largest(result, points, available);
  if (result["absent"].empty()) result.erase("absent");
  return result;
}

// Sizes that have no time, and why.
Json missing(const std::vector<Point>& points) {
  Json list = Json::array();
  for (const auto& point : points) {
    if (point.trial == nullptr || point.measurement != nullptr) continue;
    const Json& trial = *point.trial;
    const Json measured = trial.value("measurement", Json::object());
    list.push_back({{"trial", trial.at("id")},
                    {"verdict", measured.value("verdict", trial.at("verdict").get<std::string>())},
                    {"reason", measured.value("reason", trial.at("reason").get<std::string>())}});
  }
  return list;
}

}  // namespace

Json sweep_section(const RunData& run, const Json& trials, double level) {
  const Json& plan = run.header.at("plan").at("sweep");
  Json result{
      {"dims", plan.at("dims")}, {"available_bytes", plan.at("available_bytes")}, {"cases", Json::array()}};
  std::vector<std::string> names, precisions;
  const auto note = [](std::vector<std::string>& list, const Json& word) {
    if (std::find(list.begin(), list.end(), word.get<std::string>()) == list.end()) list.push_back(word);
  };
  for (const auto& entry : plan.at("points")) note(names, entry.at("case"));
  for (const auto& trial : trials) note(precisions, trial.at("precision"));
  for (const auto& name : names) {
    Json of_case{{"case", name}, {"precisions", Json::array()}, {"without_time", Json::array()}};
    for (const auto& precision : precisions) {
      const auto points = points_of(plan, trials, name, precision);
      if (std::none_of(points.begin(), points.end(),
                       [](const Point& point) { return point.trial != nullptr; }))
        continue;
      of_case["precisions"].push_back(
          precision_section(run, points, precision, plan.at("available_bytes"), level));
      for (auto& entry : missing(points)) of_case["without_time"].push_back(std::move(entry));
    }
    result["cases"].push_back(std::move(of_case));
  }
  return result;
}

}  // namespace ampgate::results
