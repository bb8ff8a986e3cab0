// What a worker folder can run: its `cases.json`, written when the workers were built.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

struct CaseInfo {
  std::string name;
  bool model = false;
  bool training = false;
  std::vector<std::string> dims;
  std::vector<std::string> outputs;
  std::vector<std::string> quality;  // what it is judged by on its data: "accuracy", "rmse"
  std::string shape_prefix;
  std::map<std::string, std::vector<std::vector<std::int64_t>>> suites;  // sizes in the order of `dims`
  std::map<std::string, std::string> unsupported;                        // precision: reason
  std::vector<std::string> precisions;  // the only ones beside fp32; empty: all
  // Limits that the case's file asks for.
  std::optional<double> minimum_accuracy;
  std::optional<double> maximum_rmse;

  // "512x512x512", "batch64": as in trial ids.
  std::string shape_name(const std::vector<std::int64_t>& sizes) const;
};

struct Manifest {
  std::string build_id;
  std::string libtorch;
  std::vector<CaseInfo> cases;
  std::vector<std::string> precisions;  // in the order in which they run; the first is the baseline
  std::vector<std::string> suites;
};

// Throws results::EnvironmentError that names `where` when it is not such a manifest.
Manifest parse_manifest(const results::Json& json, const std::string& where);

// Cases that files add. Throws as above.
void add_cases(Manifest& manifest, const results::Json& entries);

}  // namespace ampgate::driver
