// The worker of phase 2: `ampgate-bench [--events FILE|-]`, the plan on standard input, events as
// docs/protocol.md.
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/build_id.h"
#include "backends/settings.h"
#include "backends/to_json.h"
#include "bench/ceilings.h"
#include "bench/error_text.h"
#include "bench/inspect.h"
#include "bench/measure.h"
#include "bench/plan.h"
#include "cases/files/load.h"
#include "results/error.h"
#include "results/protocol.h"

namespace {

using namespace ampgate;
using results::Json;

constexpr const char* kUsage = "usage: ampgate-bench [--events FILE|-] < plan.json";

std::string events_target(std::span<char*> arguments) {
  if (arguments.empty()) return "";
  if (arguments.size() != 2 || std::string_view(arguments[0]) != "--events") {
    throw results::UsageError("ampgate-bench does not know these arguments", kUsage);
  }
  return arguments[1];
}

void check_build(const std::string& planned) {
  if (planned == backends::build_id()) return;
  throw results::EnvironmentError(
      "this worker is of build " + std::string(backends::build_id()) + ", the plan is for build " + planned,
      "build both workers and the driver again, from the same sources");
}

void work(results::EventWriter& events) {
  const auto begin = std::chrono::steady_clock::now();
  events.write("hello", {{"worker", "bench"}, {"build_id", backends::build_id()}, {"pid", getpid()}});
  const Json document = results::read_plan();
  const bench::Plan plan = bench::parse_plan(document);
  check_build(plan.build_id);
  cases::files::load(document.value("files", Json::object()));
  backends::apply(plan.settings);
  const auto backend = backends::open(plan.device);
  const at::NoGradGuard no_grad;
  events.write("environment", backends::environment_json(*backend));

  if (plan.phase == bench::Phase::kInspect) {
    bench::inspect(plan, *backend, events);
    events.write("done");
    return;
  }
  if (plan.phase == bench::Phase::kCeilings) {
    events.write("done", {{"ceilings", bench::measure_ceilings(*backend)}});
    return;
  }
  const bench::ProcessTotals totals = bench::measure(plan, *backend, events);
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - begin;
  events.write("done", {{"timed_ns", totals.timed_ns},
                        {"wall_ns", wall.count()},
                        {"clock_ns", totals.clock_ns},
                        {"conditions", totals.conditions}});
}

int report(results::EventWriter& events, results::ExitCode code, const std::string& message,
           const std::string& action) {
  const bool usage = code == results::ExitCode::kUsage;
  events.write("error",
               {{"kind", usage ? "usage" : "environment"}, {"message", message}, {"action", action}});
  return static_cast<int>(code);
}

int run(results::EventWriter& events) {
  try {
    work(events);
    return 0;
  } catch (const results::Error& error) {
    return report(events, error.code(), error.what(), error.action());
  } catch (const std::exception& error) {
    return report(events, results::ExitCode::kEnvironment, bench::error_text(error), "see the worker's log");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && (std::string_view(arguments[1]) == "--help" || std::string_view(arguments[1]) == "-h")) {
    std::cout << kUsage << "\n";
    return 0;
  }
  try {
    results::EventWriter events(
        events_target(std::span(arguments, static_cast<std::size_t>(count)).subspan(1)));
    return run(events);
  } catch (const results::Error& error) {
    std::cerr << "ampgate-bench: " << error.what() << "\n" << error.action() << "\n";
    return static_cast<int>(error.code());
  }
}
