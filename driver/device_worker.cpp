#include "driver/device_worker.h"

#include "results/error.h"

namespace ampgate::driver {

using results::Json;

Json ask_about_device(const WorkerSetup& setup, const Json& plan, const EventSink& sink,
                      std::string& failure) {
  try {
    Ending ending = run_worker(setup, plan, sink);
    if (ending.answered) return std::move(ending.done);
    failure = ending.timed_out ? "no answer in time" : ending.reason;
  } catch (const results::Error& error) {
    failure = error.what();
  }
  return nullptr;
}

void note_about_device(Context& context, const std::string& phase, const std::string& what) {
  std::string failure;
  Json done;
  in_turn(context, [&](const Json&) {
    done = ask_about_device(
        context.workers, worker_plan(context, phase, 0),
        [&](const auto& name, const Json& event) {
          if (name == "environment") note_environment(context, event);
        },
        failure);
  });
  if (!done.is_null()) context.journal.append({{phase, done.at(phase)}});
  if (!failure.empty()) context.progress.warn(what + ": " + failure);
  context.progress.advance("done");
}

}  // namespace ampgate::driver
