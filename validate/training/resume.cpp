#include "validate/training/resume.h"

#include "cases/training/checkpoint_reader.h"
#include "results/error.h"
#include "validate/numerics.h"
#include "validate/training/baseline_fault.h"
#include "validate/training/guarded_training.h"
#include "validate/training/step_trace.h"
#include "validate/training/trial_checkpoints.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using results::Json;

// The same program and data: else nobody can promise the same bits.
void check_run(const Json& state, const Json& own, const std::string& folder) {
  try {
    cases::check_same(state.value("run", Json::object()), own, "run");
  } catch (const std::invalid_argument& error) {
    throw results::FileError(folder,
                             std::string("made by another program, or with other data: ") + error.what(),
                             "use the workers and the data that it was made with (--worker, AMPGATE_DATA)");
  }
}

// Nothing but the precision is in the way.
bool fits_otherwise(cases::Trainer& trainer, const cases::Checkpoint& checkpoint) {
  try {
    trainer.restore(checkpoint, cases::OtherPrecision::kAllowed);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void restore(cases::Trainer& trainer, const cases::Checkpoint& checkpoint, bool other_precision,
             const std::string& folder) {
  try {
    trainer.restore(checkpoint,
                    other_precision ? cases::OtherPrecision::kAllowed : cases::OtherPrecision::kRefused);
  } catch (const std::invalid_argument& error) {
    throw results::FileError(folder, error.what(),
                             !other_precision && fits_otherwise(trainer, checkpoint)
                                 ? "give a checkpoint of this training in this precision, or ask for the "
                                   "change with --precision"
                                 : "give a whole checkpoint of this training");
  }
}

const char* scaler_word(const Way& way, const cases::Trainer& trainer, const cases::Checkpoint& checkpoint) {
  if (!way.scaler) return "none";
  const std::size_t before = checkpoint.state.value("changes", Json::array()).size();
  return trainer.changes().size() > before ? "anew" : "resumed";
}

// What the step that went wrong shows when it is taken once more, with every operator traced.
void explain(const TrainingSetup& setup, const Way& way, const WatchedRun& run, Json& resumed) {
  if (!run.before_bad) return;
  resumed["bad_step"] = run.before_bad->state.at("iteration");
  const auto trainer = setup.trainer(way, setup.session.seed);
  trainer->restore(*run.before_bad);
  if (const auto first = trace_step(*trainer).first) {
    resumed["first_bad"] = first->json;
    resumed["first_bad_in_words"] = first->sentence;
  }
}

}  // namespace

Json resume_training(const TrainingSetup& setup, const precision::Precision& precision, const Json& request) {
  const auto folder = request.at("folder").get<std::string>();
  const cases::Checkpoint checkpoint = cases::read_checkpoint(folder, request.value("digest", ""));
  const Json run = run_of(setup);
  if (!request.at("other_build").get<bool>()) check_run(checkpoint.state, run, folder);
  const auto numerics = numerics_scope(precision);
  const Way way = usual_way(precision);
  const auto trainer = setup.trainer(way, setup.session.seed);
  restore(*trainer, checkpoint, request.at("other_precision").get<bool>(), folder);

  Json resumed{{"iteration", trainer->iteration()},
               {"changes", trainer->changes()},
               {"scaler", scaler_word(way, *trainer, checkpoint)}};
  const TrialAnswer answer = guarded_training(precision, [&] {
    check_labels(setup);  // as where the trial was judged: a kernel would end the process
    const WatchedRun watched = watch(*trainer, request.at("steps").get<int>(), {});
    resumed["steps"] = to_json(watched);
    resumed["losses"] = Json::array();
    for (const auto& step : watched.steps) resumed["losses"].push_back(results::number(step.loss));
    resumed["weights"] = watched.steps.back().weights;
    if (request.contains("keep")) {
      cases::Checkpoint last = trainer->save();
      last.state["run"] = run;
      resumed["kept"] = cases::write_checkpoint(request.at("keep").get<std::string>(), last);
    }
    explain(setup, way, watched, resumed);
    TrialAnswer taken;
    taken.body["resumed"] = std::move(resumed);
    return taken;
  });
  if (!answer.body.empty()) return answer.body;
  const Judgement& judgement = answer.judgement;
  return {{"verdict", results::to_string(judgement.verdict)}, {"reason", judgement.reason}};
}

}  // namespace ampgate::validate
