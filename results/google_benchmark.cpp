#include "results/exports.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

constexpr std::size_t kMore = 5;  // of a row: what is known of few

bool is_left_out(const Json& row) { return row.size() > kMore && row[kMore].value("left_out", false); }

void add_blocks(Json& benchmarks, const std::string& name, const Json& measured, std::size_t family) {
  if (!carries_numbers(measurement_verdict_from(measured.at("verdict").get<std::string>()))) return;
  const std::size_t first = benchmarks.size();
  for (const Json& row : measured.value("samples", Json::array())) {
    if (is_left_out(row)) continue;
    const auto calls = row.at(3).get<std::int64_t>();
    const double time = row.at(4).get<double>() / static_cast<double>(calls);
    benchmarks.push_back({{"name", name},
                          {"family_index", family},
                          {"per_family_instance_index", 0},
                          {"run_name", name},
                          {"run_type", "iteration"},
                          {"repetitions", 0},
                          {"repetition_index", benchmarks.size() - first},
                          {"threads", 1},
                          {"iterations", calls},
                          {"real_time", time},
                          {"cpu_time", time},
                          {"time_unit", "ns"}});
  }
  const std::size_t count = benchmarks.size() - first;
  for (std::size_t i = first; i < benchmarks.size(); ++i) benchmarks[i]["repetitions"] = count;
}

}  // namespace

Json google_benchmark(const Json& record) {
  const Json& environment = record.at("environment");
  Json context{{"date", record.at("run").value("started", "")},
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
    if (trial.contains("measurement")) add_blocks(benchmarks, id, trial["measurement"], family++);
    const Json variants = trial.value("variants", Json::object());
    for (const auto& [mode, measured] : variants.items())
      add_blocks(benchmarks, id + "/" + mode, measured, family++);
  }
  return {{"context", std::move(context)}, {"benchmarks", std::move(benchmarks)}};
}

}  // namespace ampgate::results
