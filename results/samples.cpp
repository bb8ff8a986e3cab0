#include "results/samples.h"

#include <map>
#include <utility>

namespace ampgate::results {
namespace {

Row row_from(int process, const Json& json) {
  Row row{.process = process,
          .block = json.at(0).get<int>(),
          .order = json.at(1).get<int>(),
          .calls = json.at(2).get<std::int64_t>(),
          .time_ns = json.at(3).get<double>(),
          .page_faults = json.at(4).get<double>()};
  if (json.size() > 5) row.more = json.at(5);
  return row;
}

// By block: why it was disturbed. Where trials take turns in a block, a cell of any of them disturbs all,
// since their times are compared; a sustained trial runs alone.
std::map<int, std::string> disturbed_blocks(const Json& process, const std::string& trial) {
  const bool alone = mode_of(process) == "sustained";
  std::map<int, std::string> reasons;
  for (const auto& [id, rows] : process.at("samples").items()) {
    if (alone ? id != trial : group_of(id) != group_of(trial)) continue;
    for (const auto& json : rows) {
      const Row row = row_from(0, json);
      if (row.more.contains("disturbed"))
        reasons.emplace(row.block, row.more["disturbed"].get<std::string>());
    }
  }
  return reasons;
}

}  // namespace

const std::vector<std::string>& extra_modes() {
  static const std::vector<std::string> modes{"cold", "latency", "sustained", "default-malloc"};
  return modes;
}

std::string mode_of(const Json& process) { return process.value("mode", kWarm); }

Sample sample_of(const Row& row) {
  return {row.process, row.block, row.time_ns / static_cast<double>(row.calls), row.calls};
}

std::string group_of(const std::string& id) { return id.substr(0, id.find('/', id.find('/') + 1)); }

Selection select_samples(const RunData& run, const std::string& id, const std::string& mode) {
  Selection selection;
  for (const auto& process : run.bench) {
    if (mode_of(process) != mode) continue;
    const auto samples = process.at("samples").find(id);
    if (samples == process.at("samples").end()) continue;
    const auto disturbed = disturbed_blocks(process, id);
    std::vector<Row> rows;
    int calm = 0;
    for (const auto& json : *samples) {
      rows.push_back(row_from(process.at("process").get<int>(), json));
      calm += disturbed.count(rows.back().block) == 0 ? 1 : 0;
    }
    // Half of what was asked for is enough for the median of a process.
    const bool enough =
        2 * calm >= (mode == "sustained" ? static_cast<int>(rows.size()) : process.at("blocks").get<int>());
    for (const Row& row : rows) {
      const bool is_disturbed = disturbed.count(row.block) != 0;
      selection.disturbance.blocks += is_disturbed ? 1 : 0;
      selection.rows.push_back(row);
      if (is_disturbed && enough) {
        selection.rows.back().more["left_out"] = true;
        ++selection.disturbance.left_out;
        continue;
      }
      selection.samples.push_back(sample_of(row));
    }
    if (selection.disturbance.example.empty() && !disturbed.empty())
      selection.disturbance.example = disturbed.begin()->second;
  }
  return selection;
}

}  // namespace ampgate::results
