#include "bench/plan.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "backends/to_json.h"
#include "results/error.h"

namespace ampgate::bench {
namespace {

using results::Json;

Phase phase_from(const std::string& word) {
  if (word == "bench") return Phase::kBench;
  if (word == "inspect") return Phase::kInspect;
  if (word == "ceilings") return Phase::kCeilings;
  throw std::invalid_argument("phase '" + word + "' is not one of this worker's: bench, inspect, ceilings");
}

constexpr std::array<std::string_view, 5> kModes{"warm", "cold", "latency", "sustained", "default-malloc"};

Mode mode_from(const std::string& word) {
  const auto found = std::find(kModes.begin(), kModes.end(), word);
  if (found == kModes.end()) throw std::invalid_argument("/bench/mode: '" + word + "' is not a mode");
  return static_cast<Mode>(found - kModes.begin());
}

Schedule schedule_from(const Json& json) {
  Schedule schedule;
  schedule.mode = mode_from(json.value("mode", "warm"));
  schedule.blocks = json.at("blocks").get<int>();
  schedule.first_block = json.at("first_block").get<int>();
  schedule.cell_time_ns = json.at("cell_time_ns").get<std::int64_t>();
  schedule.order_seed = json.at("order_seed").get<std::uint64_t>();
  if (schedule.mode == Mode::kSustained) {
    schedule.sustained_time_ns = json.at("sustained_time_ns").get<std::int64_t>();
    if (schedule.sustained_time_ns < 1) {
      throw std::invalid_argument("/bench/sustained_time_ns must be at least 1");
    }
  }
  if (json.contains("group_time_ns")) schedule.group_time_ns = json["group_time_ns"].get<std::int64_t>();
  if (schedule.blocks < 1 || schedule.first_block < 0 || schedule.cell_time_ns < 1) {
    throw std::invalid_argument("/bench: blocks and cell_time_ns must be at least 1, first_block at least 0");
  }
  return schedule;
}

Trial trial_from(const Json& json) {
  Trial trial;
  trial.id = json.at("id").get<std::string>();
  trial.precision = &precision::find(json.at("precision").get<std::string>());
  if (json.contains("verdict")) trial.verdict = results::verdict_from(json["verdict"].get<std::string>());
  if (json.contains("evidence")) trial.evidence = json["evidence"];
  if (trial.evidence.contains("islands"))
    trial.islands = trial.evidence["islands"].get<std::vector<std::string>>();
  return trial;
}

std::vector<Group> groups_from(const Json& trials) {
  std::vector<Group> groups;
  for (const auto& json : trials) {
    auto name = json.at("case").get<std::string>();
    auto sizes = json.at("shape").get<std::vector<std::int64_t>>();
    if (groups.empty() || groups.back().case_name != name || groups.back().sizes != sizes) {
      groups.push_back({std::move(name), std::move(sizes), {}});
    }
    groups.back().trials.push_back(trial_from(json));
  }
  return groups;
}

}  // namespace

std::string_view to_string(Mode mode) { return kModes.at(static_cast<std::size_t>(mode)); }

Plan parse_plan(const results::Json& document) {
  try {
    Plan plan;
    plan.phase = phase_from(document.at("phase").get<std::string>());
    plan.build_id = document.at("build_id").get<std::string>();
    plan.device = document.at("device").get<std::string>();
    plan.seed = document.at("seed").get<std::uint64_t>();
    plan.process = document.at("process").get<int>();
    plan.rules = results::parse_rules(document.at("rules").dump(), "plan /rules");
    plan.rules_sha256 = document.at("rules_sha256").get<std::string>();
    plan.settings = backends::process_settings_from(document.at("settings"));
    if (plan.phase == Phase::kBench) plan.schedule = schedule_from(document.at("bench"));
    if (plan.phase != Phase::kCeilings) plan.groups = groups_from(document.at("trials"));
    return plan;
  } catch (const results::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw results::UsageError(std::string("plan: ") + error.what(),
                              "see docs/protocol.md for what a plan holds");
  }
}

}  // namespace ampgate::bench
