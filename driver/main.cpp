// ampgate: may an operator or model run in FP16 or BF16 on this device, and what does each cost?
#include <fmt/format.h>

#include <cstdio>

#include "driver/commands.h"
#include "driver/interrupt.h"
#include "driver/options.h"
#include "results/error.h"
#include "results/json.h"

namespace {

using namespace ampgate;
using results::ExitCode;

ExitCode start(const driver::Options& options) {
  if (!options.resume.empty()) return driver::resume(options);
  switch (options.command) {
    case driver::Command::kRun:
    case driver::Command::kValidate:
      return driver::run(options);
    case driver::Command::kBench:
      return driver::bench(options);
    case driver::Command::kList:
      return driver::list(options);
    case driver::Command::kDevices:
      return driver::devices(options);
    case driver::Command::kFingerprint:
      return driver::fingerprint(options);
    case driver::Command::kReproduce:
      return driver::reproduce(options);
    case driver::Command::kSelfTest:
      return driver::selftest(options);
    case driver::Command::kCompare:
      return driver::compare(options);
    case driver::Command::kExport:
      return driver::export_record(options);
    case driver::Command::kDecide:
      return driver::decide(options);
    case driver::Command::kReport:
      return driver::report(options);
    case driver::Command::kArchiveList:
      return driver::archive_list(options);
    case driver::Command::kArchiveShow:
      return driver::archive_show(options);
    case driver::Command::kArchiveVerify:
      return driver::archive_verify(options);
    case driver::Command::kArchivePrune:
      return driver::archive_prune(options);
  }
  return ExitCode::kUsage;
}

int fail(ExitCode code, const std::string& what, const std::string& action) {
  // Not fmt::print, which throws when the terminal is gone.
  std::fputs(fmt::format("ampgate: {}\n", what).c_str(), stderr);
  if (!action.empty()) std::fputs(fmt::format("  {}\n", action).c_str(), stderr);
  return static_cast<int>(code);
}

// Standard output may be a full disk or a closed pipe: an answer that nobody got is no success.
int flushed(ExitCode code) {
  if (std::fflush(stdout) != 0) return fail(ExitCode::kEnvironment, "cannot write to standard output", "");
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = driver::parse_options(argc, argv);
    if (!options) return flushed(ExitCode::kOk);
    driver::watch_signals();
    return flushed(start(*options));
  } catch (const driver::Interrupted& interrupt) {
    fail(ExitCode::kOk, "interrupted", "");
    return 128 + interrupt.signal();
  } catch (const results::Error& error) {
    return fail(error.code(), error.what(), error.action());
  } catch (const results::Json::exception& error) {
    return fail(ExitCode::kUsage, std::string("a file holds what it should not: ") + error.what(), "");
  } catch (const std::exception& error) {
    return fail(ExitCode::kEnvironment, error.what(), "this is an error of ours: report it");
  }
}
