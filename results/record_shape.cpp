#include "results/record_shape.h"

#include <set>
#include <utility>

#include "results/error.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

class Checker {
 public:
  explicit Checker(const std::string& where) : where_(where) {}

  [[noreturn]] void fail(const std::string& pointer, const std::string& what) const {
    throw FileError(where_, pointer + " " + what, "this is no record that ampgate wrote");
  }

  const Json& member(const Json& object, const std::string& pointer, const char* key,
                     Json::value_t type) const {
    const auto found = object.find(key);
    const std::string here = pointer + "/" + key;
    if (found == object.end()) fail(here, "is missing");
    // A parser gives unsigned numbers for what is not negative.
    const bool same =
        found->type() == type || (type == Json::value_t::number_integer && found->is_number_integer());
    if (!same) fail(here, std::string("must be ") + Json(type).type_name());
    return *found;
  }

  const Json& object(const Json& parent, const std::string& pointer, const char* key) const {
    return member(parent, pointer, key, Json::value_t::object);
  }

  std::string word(const Json& parent, const std::string& pointer, const char* key) const {
    return member(parent, pointer, key, Json::value_t::string).get<std::string>();
  }

 private:
  const std::string& where_;
};

void check_number(const Checker& check, const Json& parent, const std::string& pointer, const char* key) {
  const auto found = parent.find(key);
  if (found != parent.end() && !found->is_number()) check.fail(pointer + "/" + key, "must be a number");
}

void check_estimate(const Checker& check, const Json& parent, const std::string& pointer, const char* key,
                    const char* value) {
  if (!parent.contains(key)) return;
  const Json& estimate = check.object(parent, pointer, key);
  const std::string here = pointer + "/" + key;
  if (!estimate.contains(value)) check.fail(here + "/" + value, "is missing");
  check_number(check, estimate, here, value);
  if (!estimate.contains("interval")) return;
  const Json& interval = estimate.at("interval");
  if (!interval.is_array() || interval.size() != 2 || !interval[0].is_number() || !interval[1].is_number()) {
    check.fail(here + "/interval", "must be two numbers");
  }
}

// Rows of process, block, order, calls and time: what comparisons and readers compute from.
void check_samples(const Checker& check, const Json& measured, const std::string& pointer) {
  if (!measured.contains("samples")) return;
  std::set<std::pair<std::int64_t, std::int64_t>> cells;
  std::size_t number = 0;
  for (const auto& row : check.member(measured, pointer, "samples", Json::value_t::array)) {
    const std::string here = pointer + "/samples/" + std::to_string(number++);
    const bool whole = row.is_array() && row.size() >= 5 && row[0].is_number_integer() &&
                       row[1].is_number_integer() && row[3].is_number_integer() && row[4].is_number();
    if (!whole) check.fail(here, "must be process, block, order, calls and time");
    if (row[3].get<std::int64_t>() < 1 || !(row[4].get<double>() > 0)) {
      check.fail(here, "must have a call and a time above 0");
    }
    if (!cells.emplace(row[0].get<std::int64_t>(), row[1].get<std::int64_t>()).second) {
      check.fail(here, "is a second sample of this process and block");
    }
  }
}

// A measurement, or one of the same trial in another mode.
void check_measured(const Checker& check, const Json& measured, const std::string& here) {
  try {
    // Samples of a trial that failed are kept as they were, and nothing is computed from them.
    if (carries_numbers(measurement_verdict_from(check.word(measured, here, "verdict"))))
      check_samples(check, measured, here);
  } catch (const std::invalid_argument& error) {
    check.fail(here + "/verdict", error.what());
  }
  check_estimate(check, measured, here, "time_ns", "median");
  for (const auto* key : {"speedup_over_fp32", "fp16_to_bf16", "tflops", "gbps"}) {
    check_estimate(check, measured, here, key, "value");
  }
  if (measured.contains("memory")) {
    check_number(check, check.object(measured, here, "memory"), here + "/memory", "peak_bytes");
  }
}

void check_measurement(const Checker& check, const Json& trial, const std::string& pointer) {
  if (trial.contains("measurement"))
    check_measured(check, check.object(trial, pointer, "measurement"), pointer + "/measurement");
  if (!trial.contains("variants")) return;
  for (const auto& [mode, measured] : check.object(trial, pointer, "variants").items()) {
    const std::string here = pointer + "/variants/" + mode;
    if (!measured.is_object()) check.fail(here, "must be object");
    check_measured(check, measured, here);
  }
}

void check_accuracy(const Checker& check, const Json& trial, const std::string& pointer) {
  if (!trial.contains("accuracy")) return;
  const Json& accuracy = check.object(trial, pointer, "accuracy");
  const Json kernel = accuracy.value("kernel_error", Json());
  if (!kernel.is_null() && !kernel.is_object())
    check.fail(pointer + "/accuracy/kernel_error", "must be object");
}

void check_trial(const Checker& check, const Json& trial, const std::string& pointer) {
  if (!trial.is_object()) check.fail(pointer, "must be object");
  for (const auto* key : {"id", "case", "precision", "reason"}) check.word(trial, pointer, key);
  try {
    verdict_from(check.word(trial, pointer, "verdict"));
  } catch (const std::invalid_argument& error) {
    check.fail(pointer + "/verdict", error.what());
  }
  const Json& shape = check.object(trial, pointer, "shape");
  const auto name = check.word(shape, pointer + "/shape", "name");
  for (const auto& [dim, size] : check.object(shape, pointer + "/shape", "dims").items()) {
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1) {
      check.fail(pointer + "/shape/dims/" + dim, "must be a size of at least 1");
    }
  }
  const auto id =
      trial.at("case").get<std::string>() + "/" + name + "/" + trial.at("precision").get<std::string>();
  if (trial.at("id") != id) check.fail(pointer + "/id", "must be '" + id + "'");
  if (trial.contains("evidence")) check.object(trial, pointer, "evidence");
  if (trial.contains("facts")) {
    const Json& facts = check.object(trial, pointer, "facts");
    for (const auto* key : {"flops", "bytes"}) check_number(check, facts, pointer + "/facts", key);
  }
  if (trial.contains("absent")) check.object(trial, pointer, "absent");
  check_accuracy(check, trial, pointer);
  check_measurement(check, trial, pointer);
}

}  // namespace

void check_record_shape(const Json& record, const std::string& where) {
  const Checker check(where);
  check.word(record, "", "id");
  check.word(check.object(record, "", "run"), "/run", "command");
  const Json& device = check.object(record, "", "device");
  check.word(device, "/device", "name");
  if (device.contains("uuid")) check.word(device, "/device", "uuid");
  check.object(record, "", "environment");
  const Json& plan = check.object(record, "", "plan");
  check.word(plan, "/plan", "device");
  check.word(plan, "/plan", "suite");
  check.member(plan, "/plan", "seed", Json::value_t::number_integer);
  const Json& settings = check.object(plan, "/plan", "settings");
  check.member(settings, "/plan/settings", "threads", Json::value_t::number_integer);
  check.word(record, "", "rules_sha256");
  parse_rules(check.object(record, "", "rules").dump(), where + ": /rules");
  std::set<std::string> ids;
  std::size_t number = 0;
  for (const auto& trial : check.member(record, "", "trials", Json::value_t::array)) {
    const std::string pointer = "/trials/" + std::to_string(number++);
    check_trial(check, trial, pointer);
    if (!ids.insert(trial.at("id").get<std::string>()).second)
      check.fail(pointer + "/id", "stands there twice");
  }
}

}  // namespace ampgate::results
