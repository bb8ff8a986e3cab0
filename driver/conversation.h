// What a worker says while it runs, line by line: checked against the plan that it was given, and against the
// clock. docs/protocol.md is the contract.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "results/json.h"

namespace ampgate::driver {

// Is called for `environment`, `trial_started`, `trial_finished` and `sample`; the trial is one of the plan.
using EventSink = std::function<void(const std::string& name, const results::Json& event)>;

class Conversation {
 public:
  using Clock = std::chrono::steady_clock;

  struct Spec {
    std::string build_id;          // the worker must be of it
    std::filesystem::path folder;  // of the worker
    std::filesystem::path log;     // where the worker's other output goes
    double trial_limit_s = 120.0;
  };

  // `sink` must outlive the object.
  Conversation(Spec spec, const results::Json& plan, const EventSink& sink);

  // One line. Throws results::EnvironmentError where it breaks the protocol or the worker is of another
  // build, and the worker's own error for an event `error`.
  void take(const std::string& line);

  Clock::time_point deadline() const { return deadline_; }  // of the next event that counts
  const std::string& in_flight() const { return in_flight_; }
  bool is_done() const { return !done_.is_null(); }
  const results::Json& done() const { return done_; }

 private:
  [[noreturn]] void break_off(const std::string& what) const;
  void dispatch(const std::string& name, const results::Json& event);
  void check_build(const std::string& build_id) const;
  void take_trial(const std::string& name, const results::Json& event);
  void restart_clock();

  Spec spec_;
  const EventSink& sink_;
  std::set<std::string> ids_;
  std::set<std::string> finished_;
  std::string in_flight_;
  Clock::time_point deadline_;
  results::Json done_;
};

}  // namespace ampgate::driver
