// The checkpoints that a training trial leaves beside its record: before its first step, and before the
// batch that made it fail.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cases/training/checkpoint.h"
#include "results/json.h"
#include "validate/training/training_setup.h"

namespace ampgate::validate {

// What a checkpoint says of the program and the data that it was made with: {"build_id", "inputs",
// "weights"}, its member `run`.
results::Json run_of(const TrainingSetup& setup);

// A checkpoint that cannot be written is no reason to lose a verdict: json() says why it is absent.
class TrialCheckpoints {
 public:
  // `root`: "<archive>/<device>/<record>.checkpoints"; empty: there is no place. What a killed run has left
  // of this trial is removed.
  TrialCheckpoints(std::filesystem::path root, const std::string& trial, results::Json run);

  void keep_start(cases::Checkpoint checkpoint);
  // `step` is the one that begins with this state, `loss` what it gave, where it gave one.
  void keep_before_bad(cases::Checkpoint checkpoint, std::int64_t step, std::optional<double> loss);
  void no_bad_step(std::string reason) { absent_["before_bad"] = std::move(reason); }
  bool has_before_bad() const { return kept_.contains("before_bad"); }

  // As in records: {"start": {"folder", "digest"}, "before_bad": {"folder", "digest", "step", "loss"},
  // "absent"}. Folders are relative to the record's.
  results::Json json() const;

 private:
  void keep(const std::string& name, const std::string& folder, cases::Checkpoint checkpoint,
            const results::Json& facts);

  std::filesystem::path root_;
  std::string trial_;
  results::Json run_;
  results::Json kept_ = results::Json::object();
  results::Json absent_ = results::Json::object();
};

// The training of this trial ended in an exception: keeps the state before the step that threw it.
void keep_state_before_exception(const TrainingSetup& setup, const precision::Precision& precision,
                                 TrialCheckpoints& checkpoints);

}  // namespace ampgate::validate
