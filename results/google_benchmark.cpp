#include "results/compared_times.h"
#include "results/exports.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

// The same samples that estimates and comparisons rest on.
void add_blocks(Json& benchmarks, const std::string& name, const Json& measured, const std::string& mode,
                std::size_t family) {
  if (!carries_numbers(measurement_verdict_from(measured.at("verdict").get<std::string>()))) return;
  const std::size_t first = benchmarks.size();
  for (const Sample& sample : recorded_samples(measured, mode).samples) {
    benchmarks.push_back({{"name", name},
                          {"family_index", family},
                          {"per_family_instance_index", 0},
                          {"run_name", name},
                          {"run_type", "iteration"},
                          {"repetitions", 0},
                          {"repetition_index", benchmarks.size() - first},
                          {"threads", 1},
                          {"iterations", sample.calls},
                          {"real_time", sample.time_ns},
                          {"cpu_time", sample.time_ns},
                          {"time_unit", "ns"}});
  }
  const std::size_t count = benchmarks.size() - first;
  for (std::size_t i = first; i < benchmarks.size(); ++i) benchmarks[i]["repetitions"] = count;
}

}  // namespace

Json google_benchmark(const Json& record) {
  const Json& environment = record.at("environment");
  Json context{
      {"date", record.at("run").value("started", "")},
      {"host_name", environment.value("host", "")},
      {"executable", "ampgate " + record.at("run").value("ampgate", "")},
      {"num_cpus", environment.value("cpus", Json::array()).size()},
      {"mhz_per_cpu", 0},
      {"cpu_scaling_enabled", false},
      {"caches", Json::array()},
      {"load_avg", Json::array()},
      {"library_build_type", "release"},
      {"record", record.at("id")},
      {"device", record.at("device").value("model", record.at("device").at("name").get<std::string>())},
      {"cpu_time", "the real time: no other is measured"}};
  Json benchmarks = Json::array();
  std::size_t family = 0;
  for (const auto& trial : record.at("trials")) {
    const auto id = trial.at("id").get<std::string>();
    if (trial.contains("measurement")) add_blocks(benchmarks, id, trial["measurement"], "", family++);
    const Json variants = trial.value("variants", Json::object());
    for (const auto& [mode, measured] : variants.items())
      add_blocks(benchmarks, id + "/" + mode, measured, mode, family++);
  }
  return {{"context", std::move(context)}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace ampgate::results
