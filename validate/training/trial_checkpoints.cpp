#include "validate/training/trial_checkpoints.h"

#include "backends/build_id.h"
#include "results/checkpoint_place.h"
#include "validate/evidence.h"
#include "validate/failure.h"
#include "validate/numerics.h"

namespace ampgate::validate {
namespace fs = std::filesystem;
using results::Json;

Json run_of(const TrainingSetup& setup) {
  Json run{{"build_id", backends::build_id()}};
  run.update(input_digests(setup.original(setup.session.seed)));
  return run;
}

TrialCheckpoints::TrialCheckpoints(fs::path root, const std::string& trial, Json run)
    : root_(std::move(root)), trial_(trial), run_(std::move(run)) {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_ / results::checkpoint_place(trial_, ""), ignored);
}

void TrialCheckpoints::keep_start(cases::Checkpoint checkpoint) {
  keep("start", "start", std::move(checkpoint), Json::object());
}

void TrialCheckpoints::keep_before_bad(cases::Checkpoint checkpoint, std::int64_t step,
                                       std::optional<double> loss) {
  Json facts{{"step", step}};
  if (loss) facts["loss"] = results::number(*loss);
  keep("before_bad", "before-bad", std::move(checkpoint), facts);
}

void TrialCheckpoints::keep(const std::string& name, const std::string& folder, cases::Checkpoint checkpoint,
                            const Json& facts) {
  if (root_.empty()) {
    absent_[name] = "the plan names no folder for checkpoints";
    return;
  }
  checkpoint.state["run"] = run_;
  try {
    cases::write_checkpoint(root_ / results::checkpoint_place(trial_, folder), checkpoint);
    kept_[name] = results::kept_checkpoint(root_, trial_, folder);
    kept_[name].update(facts);
  } catch (const std::exception& error) {
    absent_[name] = error.what();
  }
}

Json TrialCheckpoints::json() const {
  Json json = kept_;
  if (!absent_.empty()) json["absent"] = absent_;
  return json;
}

void keep_state_before_exception(const TrainingSetup& setup, const precision::Precision& precision,
                                 TrialCheckpoints& checkpoints) {
  std::optional<cases::Checkpoint> before;
  const auto failure = catch_failure([&] {
    const auto numerics = numerics_scope(precision);
    const auto trainer = setup.trainer(usual_way(precision), setup.session.seed);
    for (int step = 0; step < setup.session.rules.training.updates; ++step) {
      before = trainer->save();
      trainer->run_step();
    }
  });
  if (failure && before) {
    const auto step = before->state.at("iteration").get<std::int64_t>();
    checkpoints.keep_before_bad(*std::move(before), step, {});
  } else {
    checkpoints.no_bad_step("no step of the training itself failed");
  }
}

}  // namespace ampgate::validate
