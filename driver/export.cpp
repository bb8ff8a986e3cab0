#include <fmt/format.h>

#include "driver/commands.h"
#include "results/durable_file.h"
#include "results/exports.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

std::string text_of(const results::Json& record, const std::string& format) {
  if (format == "junit") return results::junit_of_record(record);
  if (format == "google-benchmark") return results::to_text(results::google_benchmark(record), 2) + "\n";
  return results::csv(record);
}

}  // namespace

results::ExitCode export_record(const Options& options) {
  const std::string text = text_of(results::read_record(options.record), options.format);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else {
    results::write_in_place(options.out, text);
  }
  return results::ExitCode::kOk;
}

}  // namespace ampgate::driver
