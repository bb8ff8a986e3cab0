#include "driver/worker.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "driver/conversation.h"
#include "driver/memory.h"
#include "driver/process.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::EnvironmentError;
using results::Json;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr auto kExitLimit = std::chrono::seconds(30);  // from the end of the events to the end of the process

// "exit code 1: the last error that it wrote"
std::string words(const Exit& exit, const Process& process) {
  if (exit.clean()) return "exited without having answered";
  const std::string error = exit.signal == 0 ? process.last_error() : "";
  return exit.words() + (error.empty() ? "" : ": " + error);
}

// A worker that exits with one of the driver's own codes says that the fault is no trial's.
void pass_on(const Exit& exit, const Process& process, const std::string& in_flight,
             const std::filesystem::path& log) {
  const auto code = static_cast<results::ExitCode>(exit.code);
  if (exit.signal != 0 || (code != results::ExitCode::kUsage && code != results::ExitCode::kEnvironment))
    return;
  throw results::Error(
      code, "a worker gave up" + (in_flight.empty() ? "" : " in " + in_flight) + ": " + words(exit, process),
      log.empty() ? "" : "the worker's output is in " + log.string());
}

// A driver of a device reserves more addresses than there is memory.
std::optional<std::uint64_t> memory_limit(const std::string& device) {
  const double available = available_memory_bytes();
  if (device != "cpu" || !std::isfinite(available)) return {};
  return static_cast<std::uint64_t>(available);
}

std::string limit_words(const WorkerSetup& setup) {
  std::string text = std::to_string(setup.trial_limit_s);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return "no answer within the limit of " + text + " s";
}

// LibTorch's folders before what the user's environment names: the workers are for that one.
std::vector<std::string> variables(const WorkerSetup& setup) {
  std::vector<std::string> all = setup.environment.variables;
  if (setup.folder->library_path.empty()) return all;
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  std::string path = std::string(kName) + setup.folder->library_path;
  const auto given =
      std::find_if(all.begin(), all.end(), [&](const auto& text) { return text.starts_with(kName); });
  if (given != all.end()) {
    path += ":" + given->substr(kName.size());
    all.erase(given);
  }
  all.push_back(std::move(path));
  return all;
}

}  // namespace

Ending run_worker(const WorkerSetup& setup, const Json& plan, const EventSink& sink) {
  const auto phase = plan.at("phase").get<std::string>();
  const bool measures = phase == "bench" || phase == "inspect" || phase == "ceilings";
  Process process({measures ? setup.folder->bench() : setup.folder->validate(),
                   {},
                   variables(setup),
                   plan.dump(),
                   3,
                   setup.log,
                   memory_limit(plan.at("device").get<std::string>())});
  Conversation conversation({.build_id = setup.folder->manifest.build_id,
                             .folder = setup.folder->path,
                             .log = setup.log,
                             .trial_limit_s = setup.trial_limit_s},
                            plan, sink);
  std::string line;
  for (;;) {
    switch (process.next_line(line, std::min(conversation.deadline(), setup.phase_deadline))) {
      case Process::Got::kLine:
        conversation.take(line);
        break;
      case Process::Got::kTimeout:
        process.kill();
        if (Clock::now() >= setup.phase_deadline) return {.phase_over = true};
        return {.timed_out = true, .in_flight = conversation.in_flight(), .reason = limit_words(setup)};
      case Process::Got::kEnd: {
        const Exit exit = process.wait(duration_cast<milliseconds>(kExitLimit));
        if (conversation.is_done() && exit.clean()) return {.answered = true, .done = conversation.done()};
        pass_on(exit, process, conversation.in_flight(), setup.log);
        const std::string when = conversation.is_done() ? "after it had answered: " : "";
        return {.in_flight = conversation.in_flight(), .reason = when + words(exit, process)};
      }
    }
  }
}

Json ask_worker(const WorkerSetup& setup, const std::string& word, const std::string& input) {
  const auto program = setup.folder->validate();
  Process process({program, {word}, variables(setup), input, 1, {}});
  std::string text, line;
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  for (auto got = Process::Got::kLine; got != Process::Got::kEnd;) {
    got = process.next_line(line, deadline);
    if (got == Process::Got::kTimeout) {
      throw EnvironmentError(program.string() + " " + word + " gives no answer within 60 s",
                             "try it by hand");
    }
    if (got == Process::Got::kLine) text += line + "\n";
  }
  const Exit exit = process.wait(duration_cast<milliseconds>(kExitLimit));
  try {
    if (exit.clean()) return results::parse_strict(text, program.string() + " " + word);
  } catch (const results::Error& error) {
    throw EnvironmentError(error.what(), "build the workers again");
  }
  if (exit.signal == 0 && exit.code == static_cast<int>(results::ExitCode::kUsage))
    throw results::UsageError(process.last_error(), "correct what is given, or leave it out");
  throw EnvironmentError(program.string() + " " + word + ": " + words(exit, process), "try it by hand");
}

}  // namespace ampgate::driver
