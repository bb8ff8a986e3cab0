// What is accepted, fixed before the run: a JSON file whose SHA-256 is in every record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

struct Rules {
  std::string name = "default";
  // Patterns over trial precisions ("fp32", "autocast-*"): the run fails when such a trial has another
  // verdict than one that opens the gate.
  std::vector<std::string> required{"fp32", "autocast-*", "cast-*"};
  bool unsupported_fails = false;  // an `unsupported` that is required fails the run
  bool suspect_opens_gate = true;

  struct Bounds {
    double lambda = 4.0;           // standard deviations allowed to rounding noise
    double c = 4.0;                // constant part, in unit roundoffs
    double ill_conditioned = 0.5;  // E above this share of the output's RMS: a finding about the input
    double error_ratio = 2.0;      // unknown families: RMSE(out) <= ratio * RMSE(RN(oracle))
    double model_ratio = 2.0;      // models: measured RMS error over the replay's prediction
    int replay_runs = 12;
    double flip_deviations = 5.0;  // a flip is explained up to this many sd of the margin in the replay
  } bounds;

  struct Decisions {
    std::string tie_rule = "lowest-index";  // or "reject"
    double max_flips = 1.0;  // share of ordinary rows whose decision may change, explained flips included
    double max_defects = 0.0;
  } decisions;

  // By case: least accuracy (scores), largest RMSE (regression). A case in neither is not judged by quality.
  std::map<std::string, double> minimum_accuracy;
  std::map<std::string, double> maximum_rmse;
  double maximum_accuracy_loss = 0.005;  // against the FP32 baseline of the same run
  double maximum_rmse_ratio = 1.05;      // trial's RMSE over the baseline's

  double trial_limit_s = 120.0;  // silence after trial_started that makes a trial timed-out

  struct Measurement {
    int processes = 3;
    int min_blocks = 20;  // over all processes together
    double cell_time_ms = 15.0;
    double interval_level = 0.95;
    double tolerance = 0.01;  // tau of comparisons
  } measurement;
};

// Throws FileError with the JSON pointer for a wrong type, an unknown or duplicate key, a value out of range
// or a contradiction. Keys that are absent keep their defaults.
Rules parse_rules(std::string_view text, const std::string& where);

// The rules as JSON, every key present: what goes into plan and record, and what parse_rules reads back.
Json to_json(const Rules& rules);

// Does a pattern of `required` match? `*` stands for any characters.
bool is_required(const Rules& rules, std::string_view precision);

}  // namespace ampgate::results
