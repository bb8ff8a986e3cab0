#include "validate/worker.h"

#include <unistd.h>

#include <optional>
#include <set>

#include "backends/backend.h"
#include "backends/build_id.h"
#include "backends/settings.h"
#include "backends/to_json.h"
#include "cases/files/load.h"
#include "cases/fills.h"
#include "cases/threads.h"
#include "precision/precision.h"
#include "precision/region.h"
#include "results/error.h"
#include "results/rules.h"
#include "validate/case_run.h"
#include "validate/failure.h"
#include "validate/fingerprint/fingerprint.h"
#include "validate/heartbeat.h"
#include "validate/process_spread.h"
#include "validate/selftest/selftest.h"
#include "validate/tf32_probe.h"
#include "validate/training/resume.h"
#include "validate/training/training_run.h"
#include "validate/trial_run.h"

namespace ampgate::validate {

using results::EnvironmentError;
using results::EventWriter;
using results::Json;
using results::UsageError;

namespace {

struct Trial {
  std::string id;
  const cases::Case& definition;
  cases::Shape shape;
  const precision::Precision& precision;
  bool judged_before;                // by an earlier run that is resumed
  std::vector<std::string> islands;  // of a repetition: the regions that the judged run kept in FP32
  Json checks;      // of a repetition that says how far it is from the judged run; else empty
  Json checkpoint;  // of a training that is resumed; else null
};

Trial read_trial(const Json& entry) {
  const auto id = entry.at("id").get<std::string>();
  const auto found = cases::registry().find(entry.at("case").get<std::string>());
  if (found == cases::registry().end()) {
    throw UsageError("plan: trial " + id + ": this build has no such case",
                     "plan from this build's manifest");
  }
  try {
    return {id,
            found->second,
            found->second.shape(entry.at("shape").get<std::vector<std::int64_t>>()),
            precision::find(entry.at("precision").get<std::string>()),
            entry.contains("verdict"),
            entry.value("islands", std::vector<std::string>{}),
            entry.value(Json::json_pointer("/evidence/checks"), Json::array()),
            entry.value("checkpoint", Json())};
  } catch (const std::invalid_argument& error) {
    throw UsageError("plan: trial " + id + ": " + error.what(), "plan from this build's manifest");
  }
}

std::unique_ptr<backends::Backend> open_device(const Json& plan) {
  try {
    backends::apply(backends::process_settings_from(plan.at("settings")));
  } catch (const std::runtime_error& error) {
    throw EnvironmentError(error.what(), "change the settings, or run on a machine that has them");
  }
  try {
    return backends::open(plan.at("device").get<std::string>());
  } catch (const backends::DeviceError& error) {
    throw EnvironmentError(error.what(), "ampgate devices lists what is here");
  }
}

Session make_session(const Json& plan, backends::Backend& backend) {
  return {backend,
          backends::device_json(backend),
          backends::fields_json(backends::read_libtorch()),
          results::parse_rules(plan.at("rules").dump(), "plan, /rules"),
          plan.at("rules_sha256").get<std::string>(),
          plan.at("seed").get<std::uint64_t>(),
          plan.at("phase") == "repeat" || plan.at("phase") == "resume" ? std::string()
                                                                       : find_lowered_fp32(backend)};
}

void finish(const Trial& trial, const Json& body, EventWriter& events) {
  Json event{{"id", trial.id}};
  event.update(body);
  events.write("trial_finished", event);
}

void validate(Session& session, const std::vector<Trial>& trials, const std::string& checkpoints,
              EventWriter& events) {
  std::optional<CaseRun> run;
  std::optional<TrainingRun> training;
  const Trial* previous = nullptr;
  std::set<std::string> cases_seen;
  for (const auto& trial : trials) {
    if (previous == nullptr || &previous->definition != &trial.definition ||
        previous->shape.name != trial.shape.name) {
      run.reset();
      training.reset();
      const bool with_edges = cases_seen.insert(trial.definition.name).second;
      if (trial.definition.training) {
        training.emplace(session, trial.definition, trial.shape, checkpoints);
      } else {
        run.emplace(session, trial.definition, trial.shape, with_edges);
      }
    }
    previous = &trial;
    if (trial.judged_before) continue;
    session.advance = [&events, &trial] { events.write("trial_started", {{"id", trial.id}}); };
    session.advance();
    finish(trial, training ? training->judge(trial.id, trial.precision) : run->judge(trial.precision),
           events);
  }
}

Json repeat_trial(const Session& session, const Trial& trial) {
  Json body;
  const cases::ThreadsScope threads(trial.definition.threads);
  const auto failure = catch_failure([&] {
    const cases::State original = trial.definition.setup(
        trial.shape, cases::Fill(session.seed, trial.definition.name, trial.shape.name));
    if (trial.definition.training) {
      body["outputs"] = trained_weights({session, trial.definition, trial.shape}, trial.precision);
      return;
    }
    const precision::IslandScope islands(trial.islands);
    const TrialRun run = run_plain(session, trial.definition, original, trial.precision, {});
    Json outputs = Json::object();
    for (std::size_t i = 0; i < run.digests.size(); ++i)
      outputs[trial.definition.outputs[i]] = run.digests[i];
    body["outputs"] = std::move(outputs);
    if (!trial.checks.empty()) {
      body["spread"] = process_spread(trial.definition, run.outputs, trial.checks);
    }
  });
  if (failure) body = {{"verdict", results::to_string(failure->verdict)}, {"reason", failure->reason}};
  return body;
}

void resume(const Session& session, const std::vector<Trial>& trials, EventWriter& events) {
  for (const auto& trial : trials) {
    if (!trial.definition.training || !cases::trains_in(trial.precision)) {
      throw UsageError("plan: trial " + trial.id + " trains nothing that could be resumed",
                       "give a training case, and a precision that it is trained in");
    }
    events.write("trial_started", {{"id", trial.id}});
    finish(trial,
           resume_training({session, trial.definition, trial.shape}, trial.precision, trial.checkpoint),
           events);
  }
}

void repeat(const Session& session, const std::vector<Trial>& trials, EventWriter& events) {
  for (const auto& trial : trials) {
    events.write("trial_started", {{"id", trial.id}});
    finish(trial, repeat_trial(session, trial), events);
  }
}

// The trials of one case and shape stand together.
void test_detector(const Session& session, const std::vector<Trial>& trials, const Json& extent,
                   EventWriter& events) {
  for (std::size_t begin = 0, end = 0; begin < trials.size(); begin = end) {
    std::vector<const precision::Precision*> precisions;
    for (; end < trials.size() && &trials[end].definition == &trials[begin].definition; ++end)
      precisions.push_back(&trials[end].precision);
    selftest::SelfTest test(session, trials[begin].definition, trials[begin].shape, precisions,
                            {extent.at("deep").get<bool>(), extent.at("clean_seeds").get<int>()});
    for (std::size_t i = begin; i < end; ++i) {
      events.write("trial_started", {{"id", trials[i].id}});
      finish(trials[i], test.judge(trials[i].precision), events);
    }
  }
}

}  // namespace

void run_plan(const Json& plan, EventWriter& events) {
  events.write("hello", {{"worker", "validate"}, {"build_id", backends::build_id()}, {"pid", ::getpid()}});
  if (plan.at("build_id") != backends::build_id()) {
    throw EnvironmentError("the plan was made for build " + plan.at("build_id").get<std::string>() +
                               ", this worker is build " + backends::build_id(),
                           "build again, so that driver and workers fit");
  }
  const auto phase = plan.at("phase").get<std::string>();
  if (phase != "validate" && phase != "repeat" && phase != "selftest" && phase != "resume" &&
      phase != "fingerprint") {
    throw UsageError(
        "plan: ampgate-validate knows the phases validate, repeat, resume, selftest and "
        "fingerprint, not '" +
            phase + "'",
        "use ampgate-bench for the other phases");
  }
  cases::files::load(plan.value("files", Json::object()));
  std::vector<Trial> trials;
  for (const auto& entry : plan.at("trials")) trials.push_back(read_trial(entry));
  const auto backend = open_device(plan);
  if (phase == "fingerprint") {
    events.write("environment", backends::environment_json(*backend));
    const Heartbeat heartbeat(events);
    events.write("done", {{"fingerprint", fingerprint::take(*backend)}});
    return;
  }
  Session session = make_session(plan, *backend);
  events.write("environment", backends::environment_json(*backend));
  {
    const Heartbeat heartbeat(events);
    if (phase == "selftest") {
      test_detector(session, trials, plan.at("selftest"), events);
    } else if (phase == "validate") {
      validate(session, trials, plan.value("checkpoints", ""), events);
    } else if (phase == "resume") {
      resume(session, trials, events);
    } else {
      repeat(session, trials, events);
    }
  }
  events.write("done");
}

}  // namespace ampgate::validate
