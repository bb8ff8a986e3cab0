#include "validate/training/timed_steps.h"

#include "backends/digest.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

// Two updates are all timed: one of them is a lead-in.
int first_step(int updates) { return (updates - 1) / 2; }

}  // namespace

TimedSteps timed_steps(const TrainingSetup& setup, const Way& way) {
  const int updates = setup.session.rules.training.updates;
  const int first = first_step(updates);
  const auto trainer = setup.trainer(way, setup.session.seed);
  for (int step = 0; step < first; ++step) trainer->run_step();
  results::Json weights = results::Json::array({weights_digest(*trainer)});
  TimedSteps timed;
  trainer->load_batches(1);  // nothing is cut in a timed step
  {
    cases::OperatorRecorder recorder;
    trainer->run_step();
    timed.operators = recorder.take();
  }
  weights.push_back(weights_digest(*trainer));
  for (int step = first + 1; step < updates; ++step) {
    trainer->run_step();
    weights.push_back(weights_digest(*trainer));
  }
  timed.evidence = {{"first_step", first},
                    {"weights", std::move(weights)},
                    {"held_out", backends::digest_of_all(trainer->evaluate())}};
  return timed;
}

}  // namespace ampgate::validate
