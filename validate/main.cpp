// The worker of phase 1. It reads a plan on standard input, or prints what the driver plans from.
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/durable_file.h"
#include "results/error.h"
#include "results/protocol.h"
#include "validate/manifest.h"
#include "validate/scaler_trace/replay.h"
#include "validate/selftest/selftest.h"
#include "validate/shape_facts.h"
#include "validate/worker.h"

namespace {

using ampgate::results::Error;
using ampgate::results::ExitCode;

constexpr std::string_view kUsage =
    "usage: ampgate-validate [--events FILE|-] < plan.json\n"
    "       ampgate-validate manifest | devices | faults | facts < shapes.json | cases < files.json\n"
    "       ampgate-validate scaler-trace FILE|- ...\n"
    "       ampgate-validate --help\n";

constexpr std::string_view kScalerTraceUsage =
    "usage: ampgate-validate scaler-trace FILE|- ...\n"
    "Replays the calls of a gradient scaler that each file (-: standard input) holds as JSON, and prints "
    "what it\n"
    "did, one line of JSON for each: docs/scaler-trace.md.\n";

int fail(const std::string& what, const std::string& action, ExitCode code) {
  std::cerr << "ampgate-validate: " << what << (action.empty() ? "" : "\n  " + action) << '\n';
  return static_cast<int>(code);
}

ampgate::results::Json read_standard_input() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return ampgate::results::parse_strict(text, "standard input");
}

ampgate::validate::scaler_trace::Sequence read_sequence(const std::string& file) {
  const bool standard_input = file == "-";
  const auto document = standard_input ? read_standard_input() : ampgate::results::read_json_file(file);
  return ampgate::validate::scaler_trace::read_sequence(document, standard_input ? "standard input" : file);
}

// One line of JSON for each file.
void print_scaler_traces(std::span<const std::string> files) {
  for (const std::string& file : files) {
    ampgate::validate::scaler_trace::replay(read_sequence(file), std::cout);
    if (!std::cout) {
      throw ampgate::results::EnvironmentError("cannot write the trace of " + file + " to standard output",
                                               "Make room on the disk, or write to another place.");
    }
  }
}

// What libraries print while they are loaded, or at the end, must not stand in the answer: from now on it
// goes to standard error. Gives the descriptor that was standard output. Throws EnvironmentError.
int keep_standard_output() {
  const int kept = ::dup(STDOUT_FILENO);
  if (kept < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw ampgate::results::EnvironmentError("standard output is not open", "let it go to a file or a pipe");
  }
  return kept;
}

// What is wrong with a file is an answer too: it is for the user, not about this program.
void print_file_manifest() {
  const int output = keep_standard_output();
  ampgate::results::Json answer;
  try {
    answer = ampgate::validate::file_manifest(read_standard_input());
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    answer = {{"error", {{"message", error.what()}, {"action", error.action()}}}};
  }
  ampgate::results::write_all(output, ampgate::results::to_text(answer) + '\n', "standard output");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::cout << kUsage;
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "manifest") {
    std::cout << ampgate::validate::manifest().dump(1) << '\n';
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "devices") {
    std::cout << ampgate::validate::devices().dump(1) << '\n';
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "faults") {
    std::cout << ampgate::validate::selftest::table().dump(1) << '\n';
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "facts") {
    std::cout << ampgate::validate::shape_facts(read_standard_input()).dump(1) << '\n';
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "cases") {
    print_file_manifest();
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "scaler-trace" &&
      (arguments[1] == "--help" || arguments[1] == "-h")) {
    std::cout << kScalerTraceUsage;
    return 0;
  }
  if (arguments.size() >= 2 && arguments[0] == "scaler-trace") {
    print_scaler_traces(std::span(arguments).subspan(1));
    return 0;
  }
  std::string target;
  if (arguments.size() == 2 && arguments[0] == "--events") {
    target = arguments[1];
  } else if (!arguments.empty()) {
    std::cerr << kUsage;
    return static_cast<int>(ExitCode::kUsage);
  }
  ampgate::results::EventWriter events(target);
  try {
    ampgate::validate::run_plan(ampgate::results::read_plan(), events);
    return 0;
  } catch (const Error& error) {
    events.write("error", {{"kind", error.code() == ExitCode::kUsage ? "usage" : "environment"},
                           {"message", error.what()},
                           {"action", error.action()}});
    return fail(error.what(), error.action(), error.code());
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Every tensor operation of this program is inference. Not inference mode: it changes autocast's caching.
  const at::NoGradGuard no_grad;
  try {
    return run({argv + 1, argv + argc});
  } catch (const Error& error) {
    return fail(error.what(), error.action(), error.code());
  } catch (const std::exception& error) {
    return fail(error.what(), "", ExitCode::kEnvironment);
  }
}
