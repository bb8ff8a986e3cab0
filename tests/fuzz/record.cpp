// Records of all versions: what they are read by, and all that is made of them. The digest is not asked for,
// since no change would get past it.
#include <string>
#include <string_view>

#include "refused.h"
#include "results/archive.h"
#include "results/choices.h"
#include "results/comparison.h"
#include "results/exit_code.h"
#include "results/exports.h"
#include "results/migration.h"
#include "results/record_shape.h"

using namespace ampgate;
using results::Json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Json record;
  try {
    record = results::parse_strict({reinterpret_cast<const char*>(data), size}, "input");
    results::migrate_record(record);
    results::check_record_shape(record, "input");
  } catch (const results::Error&) {
    return 0;
  }
  fuzz::allow_refusal([&] { results::record_summary(record); });
  fuzz::allow_refusal([&] { results::choices_csv(results::choices(record)); });
  fuzz::allow_refusal([&] { results::csv(record); });
  fuzz::allow_refusal([&] { results::to_text(results::google_benchmark(record)); });
  fuzz::allow_refusal([&] { results::junit_of_record(record); });
  fuzz::allow_refusal([&] {
    Json other = record;
    other["id"] = "other";
    results::junit_of_comparison(results::compare_records(record, other));
  });
  return 0;
}
