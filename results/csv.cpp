#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "results/exports.h"

namespace ampgate::results {
namespace {

// A column's name, and where its value is in a trial, or in what one of its modes measured.
using Columns = std::initializer_list<std::pair<const char*, const char*>>;

constexpr Columns kOfTrial{{"trial", "/id"},
                           {"case", "/case"},
                           {"shape", "/shape/name"},
                           {"precision", "/precision"},
                           {"verdict", "/verdict"},
                           {"reason", "/reason"},
                           {"margin", "/accuracy/kernel_error/margin"},
                           {"kernel_error_criterion", "/accuracy/kernel_error/criterion"},
                           {"cost_relative_rms_error", "/accuracy/precision_cost/relative_rms_error"},
                           {"decision_rows", "/decisions/rows"},
                           {"decision_flips", "/decisions/flips"},
                           {"decision_defects", "/decisions/defects"},
                           {"accuracy", "/decisions/accuracy/trial"},
                           {"accuracy_fp32", "/decisions/accuracy/baseline"},
                           {"rmse", "/decisions/regression/against_targets/trial/rmse"},
                           {"rmse_fp32", "/decisions/regression/against_targets/baseline/rmse"}};

constexpr Columns kOfMeasurement{{"measurement_verdict", "/verdict"},
                                 {"time_ns", "/time_ns/median"},
                                 {"time_ns_low", "/time_ns/interval/0"},
                                 {"time_ns_high", "/time_ns/interval/1"},
                                 {"interval_level", "/time_ns/level"},
                                 {"samples", "/time_ns/samples"},
                                 {"processes", "/time_ns/processes"},
                                 {"speedup_over_fp32", "/speedup_over_fp32/value"},
                                 {"speedup_over_fp32_low", "/speedup_over_fp32/interval/0"},
                                 {"speedup_over_fp32_high", "/speedup_over_fp32/interval/1"},
                                 {"fp16_to_bf16", "/fp16_to_bf16/value"},
                                 {"fp16_to_bf16_low", "/fp16_to_bf16/interval/0"},
                                 {"fp16_to_bf16_high", "/fp16_to_bf16/interval/1"},
                                 {"tflops", "/tflops/value"},
                                 {"gbps", "/gbps/value"},
                                 {"peak_bytes", "/memory/peak_bytes"},
                                 {"allocations", "/memory/allocations"}};

constexpr Columns kOfChoice{{"record", "/record"},
                            {"device", "/device"},
                            {"model", "/model"},
                            {"case", "/case"},
                            {"shape", "/shape"}};

// Below "/fp16" and "/bf16".
constexpr Columns kOfWay{{"way", "/precision"},
                         {"verdict", "/verdict"},
                         {"margin", "/margin"},
                         {"decision_rows", "/decisions/rows"},
                         {"decision_flips", "/decisions/flips"},
                         {"decision_defects", "/decisions/defects"},
                         {"accuracy", "/decisions/accuracy/trial"},
                         {"rmse", "/regression/trial/rmse"},
                         {"training_outcome", "/training_quality/outcome"},
                         {"training_mean_loss", "/training_quality/mean_loss"},
                         {"speedup_over_fp32", "/speedup_over_fp32/value"},
                         {"speedup_over_fp32_low", "/speedup_over_fp32/interval/0"},
                         {"speedup_over_fp32_high", "/speedup_over_fp32/interval/1"},
                         {"memory_to_fp32", "/memory_to_fp32"},
                         {"islands", "/islands"}};

constexpr Columns kOfAnswer{{"fp16_to_bf16", "/fp16_to_bf16/value"},
                            {"fp16_to_bf16_low", "/fp16_to_bf16/interval/0"},
                            {"fp16_to_bf16_high", "/fp16_to_bf16/interval/1"},
                            {"recommended", "/recommendation/precision"},
                            {"why", "/recommendation/in_words"}};

std::string field(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (auto at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

void add(std::vector<std::string>& fields, const Json& object, Columns columns) {
  for (const auto& [name, where] : columns) fields.push_back(field(at_pointer(object, where)));
}

std::string line(const std::vector<std::string>& fields) {
  std::string text;
  for (const auto& each : fields) text += (&each == &fields.front() ? "" : ",") + each;
  return text + "\r\n";
}

std::string line(const Json& record, const Json& trial, const std::string& mode, const Json& measured) {
  std::vector<std::string> fields{field(record.at("id")), field(record.at("device").at("name")),
                                  field(record.at("device").value("model", Json()))};
  add(fields, trial, kOfTrial);
  fields.push_back(mode);
  add(fields, measured, kOfMeasurement);
  return line(fields);
}

}  // namespace

std::string csv(const Json& record) {
  std::vector<std::string> head{"record", "device", "model"};
  for (const auto& [name, where] : kOfTrial) head.emplace_back(name);
  head.emplace_back("mode");
  for (const auto& [name, where] : kOfMeasurement) head.emplace_back(name);
  std::string text = line(head);
  for (const auto& trial : record.at("trials")) {
    text += line(record, trial, "warm", trial.value("measurement", Json::object()));
    const Json variants = trial.value("variants", Json::object());
    for (const auto& [mode, measured] : variants.items()) text += line(record, trial, mode, measured);
  }
  return text;
}

std::string choices_csv(const Json& entries) {
  constexpr std::array kTypes{"fp16", "bf16"};
  std::vector<std::string> head;
  for (const auto& [name, where] : kOfChoice) head.emplace_back(name);
  for (const std::string type : kTypes) {
    for (const auto& [name, where] : kOfWay) head.push_back(type + "_" + name);
    head.push_back(type + "_absent");
  }
  for (const auto& [name, where] : kOfAnswer) head.emplace_back(name);
  std::string text = line(head);
  for (const auto& entry : entries) {
    std::vector<std::string> fields;
    add(fields, entry, kOfChoice);
    for (const char* type : kTypes) {
      add(fields, entry.value(type, Json::object()), kOfWay);
      fields.push_back(field(entry.value("absent", Json::object()).value(type, Json())));
    }
    add(fields, entry, kOfAnswer);
    text += line(fields);
  }
  return text;
}

}  // namespace ampgate::results
