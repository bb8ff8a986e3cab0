#include "driver/conversation.h"

#include <algorithm>
#include <utility>

#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::EnvironmentError;
using results::Json;

Conversation::Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Conversation::Clock::duration>(std::chrono::duration<double>(value));
}

}  // namespace

Conversation::Conversation(Spec spec, const Json& plan, const EventSink& sink)
    : spec_(std::move(spec)), sink_(sink) {
  for (const auto& trial : plan.at("trials")) {
    ids_.insert(trial.at("id").get<std::string>());
    if (plan.at("phase") == "validate" && trial.contains("verdict"))
      finished_.insert(trial.at("id").get<std::string>());
  }
  restart_clock();
}

void Conversation::take(const std::string& line) {
  Json event;
  try {
    event = results::parse_strict(line, "event");
  } catch (const results::Error& error) {
    break_off("a worker wrote a line that is not an event: " + std::string(error.what()));
  }
  if (!event.is_object() || !event.contains("event") || !event["event"].is_string())
    break_off("a worker wrote a line that is not an event: " + line.substr(0, 200));
  const auto name = event["event"].get<std::string>();
  try {
    dispatch(name, event);
  } catch (const Json::exception& error) {
    break_off("a worker's event '" + name + "' lacks a field or has a wrong type: " + error.what());
  }
}

void Conversation::break_off(const std::string& what) const {
  throw EnvironmentError(
      what, "is the worker folder of this build? The worker's output is in " + spec_.log.string());
}

void Conversation::dispatch(const std::string& name, const Json& event) {
  if (is_done()) break_off("a worker wrote '" + name + "' after 'done'");
  if (name == "heartbeat") return;
  if (name == "error") {
    const auto code =
        event.at("kind") == "usage" ? results::ExitCode::kUsage : results::ExitCode::kEnvironment;
    throw results::Error(code, event.at("message").get<std::string>(), event.value("action", ""));
  }
  if (name == "hello") {
    check_build(event.at("build_id").get<std::string>());
  } else if (name == "done") {
    done_ = event;
  } else if (name == "environment") {
    sink_(name, event);
  } else if (name == "trial_started" || name == "trial_finished" || name == "sample") {
    take_trial(name, event);
  } else {
    break_off("a worker wrote the unknown event '" + name + "'");
  }
  if (in_flight_.empty()) restart_clock();
}

void Conversation::check_build(const std::string& build_id) const {
  if (build_id == spec_.build_id) return;
  throw EnvironmentError("the worker in " + spec_.folder.string() + " is of build " + build_id.substr(0, 12) +
                             "..., its cases.json of build " + spec_.build_id.substr(0, 12) + "...",
                         "build the workers again");
}

void Conversation::take_trial(const std::string& name, const Json& event) {
  const auto id = event.at("id").get<std::string>();
  if (ids_.count(id) == 0) break_off("a worker wrote about trial '" + id + "', which it was not asked");
  if (name == "trial_started") {
    in_flight_ = id;
    deadline_ = Clock::now() + seconds(spec_.trial_limit_s);
  } else if (id == in_flight_) {
    in_flight_.clear();
  }
  if (name == "trial_finished" && !finished_.insert(id).second)
    break_off("a worker answered trial '" + id + "' twice");
  sink_(name, event);
}

// Outside trials a worker loads libraries and makes inputs: that may take a minute.
void Conversation::restart_clock() {
  deadline_ = Clock::now() + seconds(std::max(spec_.trial_limit_s, 60.0));
}

}  // namespace ampgate::driver
