#include "bench/plan.h"

#include <stdexcept>

#include "results/error.h"

namespace ampgate::bench {
namespace {

using results::Json;

Phase phase_from(const std::string& word) {
  if (word == "bench") return Phase::kBench;
  if (word == "inspect") return Phase::kInspect;
  throw std::invalid_argument("phase '" + word + "' is not one of this worker's: bench, inspect");
}

backends::ProcessSettings settings_from(const Json& json) {
  backends::ProcessSettings settings;
  settings.threads = json.at("threads").get<int>();
  settings.affinity = json.value("affinity", std::vector<int>{});
  if (json.contains("mmap_threshold_bytes")) {
    settings.mmap_threshold_bytes = json["mmap_threshold_bytes"].get<std::int64_t>();
  }
  if (json.contains("trim_threshold_bytes")) {
    settings.trim_threshold_bytes = json["trim_threshold_bytes"].get<std::int64_t>();
  }
  return settings;
}

Schedule schedule_from(const Json& json) {
  Schedule schedule;
  schedule.blocks = json.at("blocks").get<int>();
  schedule.first_block = json.at("first_block").get<int>();
  schedule.cell_time_ns = json.at("cell_time_ns").get<std::int64_t>();
  schedule.order_seed = json.at("order_seed").get<std::uint64_t>();
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
    plan.settings = settings_from(document.at("settings"));
    if (plan.phase == Phase::kBench) plan.schedule = schedule_from(document.at("bench"));
    plan.groups = groups_from(document.at("trials"));
    return plan;
  } catch (const results::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw results::UsageError(std::string("plan: ") + error.what(),
                              "see docs/protocol.md for what a plan holds");
  }
}

}  // namespace ampgate::bench
