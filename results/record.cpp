#include "results/record.h"

#include <algorithm>
#include <utility>

#include "results/ceilings.h"
#include "results/error.h"
#include "results/measurement.h"
#include "results/migration.h"
#include "results/record_shape.h"
#include "results/samples.h"
#include "results/sealed.h"
#include "results/sha256.h"
#include "results/sweep.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

constexpr SealedKind kKind{"record", kRecordVersion, "give a record: a .json file in an archive folder",
                           migrate_record};

Json take(const Json& object, const char* key, Json otherwise) {
  return object.is_object() ? object.value(key, std::move(otherwise)) : otherwise;
}

Json run_section(const RunData& run, const std::string& finished) {
  Json section = run.header.at("run");
  section["finished"] = finished;
  section["times_resumed"] = run.resumed;
  section["phases"] = run.phases;
  section["plan_sha256"] = run.header.value("plan_sha256", "");
  return section;
}

Json environment_section(const RunData& run) {
  Json section = take(run.header, "machine", Json::object());
  for (const auto* key : {"libtorch", "settings", "build"}) {
    if (run.environment.is_object() && run.environment.contains(key)) {
      section[key] = run.environment.at(key);
    } else {
      section["absent"][key] = "no worker lived long enough to say";
    }
  }
  return section;
}

Json device_section(const RunData& run) {
  Json device = take(run.environment, "device", Json::object());
  if (!device.contains("name")) device["name"] = run.header.at("plan").at("device");
  return device;
}

Json bench_section(const RunData& run) {
  Json section{{"looks", looks(run)}, {"processes", Json::array()}};
  double timed = 0, wall = 0;
  for (const auto& process : run.bench) {
    Json entry{{"process", process.at("process")}, {"mode", mode_of(process)}};
    for (const auto* key : {"look", "order_seed", "turn", "clock_ns", "conditions"}) {
      if (process.contains(key)) entry[key] = process.at(key);
    }
    section["processes"].push_back(std::move(entry));
    if (mode_of(process) != kWarm) continue;
    timed += process.value("timed_ns", 0.0);
    wall += process.value("wall_ns", 0.0);
  }
  if (wall > 0) {
    section["timed_ns"] = timed;
    section["wall_ns"] = wall;
    section["timed_share"] = timed / wall;
  }
  return section;
}

// What a user should know of a time before comparing it.
void add_findings(Json& trial, const Json& measured) {
  const Json overhead = measured.value("overhead", Json::object());
  for (const auto& [member, verdict] :
       {std::pair{"in_words", "dispatch-bound"}, std::pair{"launch_in_words", "launch-bound"}}) {
    if (!overhead.contains(member)) continue;
    trial["findings"].push_back({{"input", "ordinary"},
                                 {"shape", trial.at("shape").at("name")},
                                 {"verdict", verdict},
                                 {"text", overhead.at(member)}});
  }
}

Json trial_section(const RunData& run, const Json& planned, const Rules& rules, const Json& reached) {
  const auto id = planned.at("id").get<std::string>();
  const auto found = run.trials.find(id);
  if (found == run.trials.end()) throw std::logic_error("trial " + id + " has no verdict");
  Json trial = found->second;
  const auto verdict = verdict_from(trial.at("verdict").get<std::string>());
  const bool opens = opens_gate(verdict, rules.suspect_opens_gate);
  if (Json measured = measurement(run, id, rules, reached); !measured.is_null()) {
    add_findings(trial, measured);
    trial["measurement"] = std::move(measured);
  } else if (run.ended("bench")) {
    trial["absent"]["measurement"] = opens ? "its fp32 baseline did not open the gate"
                                           : "not measured: the verdict " +
                                                 trial.at("verdict").get<std::string>() +
                                                 " does not open the gate";
  } else {
    trial["absent"]["measurement"] = "this run did not measure";
  }
  if (Json others = variants(run, id, rules, reached); !others.empty()) trial["variants"] = std::move(others);
  if (planned.contains("reproducer")) trial["reproducer"] = planned.at("reproducer");
  return trial;
}

}  // namespace

std::string rules_digest(const Rules& rules) {
  Json json = to_json(rules);
  json.erase("golden");
  return sha256_hex(json.dump());
}

Json build_record(const RunData& run, const Rules& rules, const std::string& finished) {
  const Json& plan = run.header.at("plan");
  Json record{{"ampgate_record", kRecordVersion}, {"digest", ""}};
  record["id"] = run.header.at("run").at("id");
  record["run"] = run_section(run, finished);
  record["plan"] = plan;
  record["plan"].erase("trials");
  record["environment"] = environment_section(run);
  record["device"] = device_section(run);
  record["rules"] = to_json(rules);
  record["rules_sha256"] = rules_digest(rules);
  if (run.header.contains("rules_file")) record["rules_file"] = run.header.at("rules_file");
  if (run.header.contains("evidence_source")) record["evidence_source"] = run.header.at("evidence_source");
  if (run.ended("bench")) record["bench"] = bench_section(run);
  if (run.fingerprint.is_object()) record["fingerprint"] = run.fingerprint;
  Json reached = ceilings(run.ceilings, rules.measurement.interval_level);
  record["trials"] = Json::array();
  for (const auto& planned : plan.at("trials"))
    record["trials"].push_back(trial_section(run, planned, rules, reached));
  if (plan.contains("sweep") && run.ended("bench"))
    record["sweep"] = sweep_section(run, record["trials"], rules.measurement.interval_level);
  if (!reached.is_null()) record["ceilings"] = std::move(reached);
  return record;
}

Json read_record(const std::string& path) {
  Json record = read_sealed(path, kKind);
  check_record_shape(record, path);
  return record;
}

}  // namespace ampgate::results
