// What is accepted, fixed before the run: a JSON file whose SHA-256 is in every record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

struct Rules {
  static constexpr int kVersion = 1;

  std::string name = "default";
  // Patterns over trial precisions ("fp32", "autocast-*"): the run fails when such a trial has another
  // verdict than one that opens the gate.
  std::vector<std::string> required{"fp32", "autocast-*", "cast-*"};
  bool unsupported_fails = true;  // an `unsupported` that is required fails the run
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

  // Shares of the rows of one kind of input whose decision may change, by the kind of the change: none more
  // than `flips`, and where a file is silent on a kind, no more than that.
  struct FlipLimits {
    double flips = 1.0;  // of all kinds together
    double explained = 1.0;
    double tie_collapse = 1.0;
    double defect = 0.0;
  };
  struct Decisions {
    std::string tie_rule = "lowest-index";  // one of tie_rules()
    FlipLimits ordinary;
    FlipLimits boundary;  // flips by design: explained ones say nothing about the trial
  } decisions;

  // By case: least accuracy (scores), largest RMSE (regression). A case in neither is not judged by quality.
  std::map<std::string, double> minimum_accuracy;
  std::map<std::string, double> maximum_rmse;
  double maximum_accuracy_loss = 0.005;  // against the FP32 baseline of the same run
  double maximum_rmse_ratio = 1.05;      // trial's RMSE over the baseline's

  // What an output must keep beside its own criterion. A limit that is absent is not looked at.
  struct OutputRule {
    // Kernel error over its bound. Below 1 stricter than the bound; above 1 what lies between is `suspect`.
    std::optional<double> max_margin;
    std::optional<double> max_relative_rms;  // of the difference to the FP32 baseline
    std::optional<double> max_abs_error;     // against the FP32 baseline
    std::string ignore;                      // why the output is not judged; empty: it is
  };
  // By "case/output", or by "case" for those of its outputs that have no rule of their own.
  std::map<std::string, OutputRule> outputs;

  // Runs of the same call beside the deciding one. 29 see a fault that hits one run in ten with 95 %.
  int repeats = 3;

  double trial_limit_s = 120.0;         // silence after trial_started that makes a trial timed-out
  double validation_limit_s = 86400.0;  // what phase 1 has not judged by then is timed-out

  struct Measurement {
    int processes = 3;
    int min_blocks = 20;  // over all processes together
    double cell_time_ms = 15.0;
    double interval_level = 0.95;
    double tolerance = 0.01;    // tau of comparisons
    double sustained_s = 30.0;  // --sustained: of each precision alone
  } measurement;

  // Of training steps.
  struct Training {
    int updates = 100;  // steps of the training loop, skipped ones among them
    int seeds = 8;     // paired trainings whose final quality is compared
    int shadow_steps = 3;
    double max_skipped_share = 0.25;
    int max_consecutive_skips = 12;
    int max_steps_to_first_update = 16;
    double min_scale = 0.0;           // a scale below it fails; 0: it is only reported
    double max_gradient_error = 0.1;  // of a shadow step's gradient in 16 bit, relative to FP64's
    double max_zeroed_share = 0.05;   // of gradients that FP64 has, by their number
    // Final quality on held-out data against FP32's, over the seeds: one-sided non-inferiority.
    double max_accuracy_loss = 0.01;
    double max_rmse_ratio = 1.05;
  } training;

  // What a measurement must reach. A floor that is absent is not looked at.
  struct Floors {
    std::optional<double> min_tflops;
    std::optional<double> min_gbps;
    std::optional<double> min_speedup_over_fp32;
  };
  // By pattern over the device's model, then by pattern over trial ids.
  std::map<std::string, std::map<std::string, Floors>> targets;

  // By pattern over the device's model: the id of the record that others of that model are compared with. It
  // accepts nothing and refuses nothing, and is no part of the rules' digest: the golden record itself was made
  // before it could be named.
  std::map<std::string, std::string> golden;
};

// Throws FileError with the JSON pointer for a wrong type, an unknown or duplicate key, a value out of range
// or a contradiction. Keys that are absent keep their defaults.
Rules parse_rules(std::string_view text, const std::string& where);

// The rules as JSON, every key present: what goes into plan and record, and what parse_rules reads back.
Json to_json(const Rules& rules);

// Does a pattern of `required` match? `*` stands for any characters.
bool is_required(const Rules& rules, std::string_view precision);

// The golden record for devices of a model; empty where none is named. Of several patterns the longest counts.
std::string golden_record(const Rules& rules, const std::string& model);

// The rule for an output: its own, else its case's; null when there is neither.
const Rules::OutputRule* output_rule(const Rules& rules, const std::string& case_name,
                                     const std::string& output);

// What a rules file may say about equal scores, and the precisions that it may name.
const std::vector<std::string>& tie_rules();
const std::vector<std::string>& known_precisions();

}  // namespace ampgate::results
