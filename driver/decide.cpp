#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "driver/columns.h"
#include "driver/commands.h"
#include "driver/names.h"
#include "driver/terminal.h"
#include "driver/words.h"
#include "results/choices.h"
#include "results/exports.h"
#include "results/json.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string device_words(const Json& entry) {
  return entry.value("model", entry.at("device").get<std::string>());
}

// What tells entries of one case apart: the device, where there are several, and the record, where a device
// has several.
struct Sources {
  bool devices = false;
  bool records = false;

  explicit Sources(const Json& entries) {
    std::map<std::string, std::set<std::string>> found;
    for (const auto& entry : entries)
      found[device_words(entry)].insert(entry.at("record").get<std::string>());
    devices = found.size() > 1;
    for (const auto& [device, of_it] : found) records = records || of_it.size() > 1;
  }

  std::string words(const Json& entry) const {
    return device_words(entry) + (records ? ", " + entry.at("record").get<std::string>() : "");
  }
};

std::string against_fp32(double value, double baseline) {
  return value == baseline ? fmt::format("{:.4g}, as fp32", value)
                           : fmt::format("{:.4g} (fp32 {:.4g})", value, baseline);
}

// What it reaches on the case's own data.
std::string quality_words(const Json& way) {
  const auto at = [&](const char* where) { return results::number_from(way.at(Json::json_pointer(where))); };
  if (way.contains(Json::json_pointer("/decisions/accuracy/trial"))) {
    return "accuracy " + against_fp32(at("/decisions/accuracy/trial"), at("/decisions/accuracy/baseline"));
  }
  if (way.contains(Json::json_pointer("/regression/trial/rmse")))
    return "RMSE " + against_fp32(at("/regression/trial/rmse"), at("/regression/baseline/rmse"));
  const Json outcome = results::at_pointer(way, "/training_quality/outcome");
  return outcome.is_string() ? "trains " + outcome.get<std::string>() : "-";
}

// "autocast", or "islands (2 of 7 in FP32)".
std::string way_words(const Json& way) {
  const auto precision = way.at("precision").get<std::string>();
  std::string words = precision.substr(0, precision.find('-'));
  if (way.contains("islands"))
    words +=
        fmt::format(" ({} of {} in FP32)", way["islands"].size(), way.value("all_regions", Json()).size());
  return words;
}

std::vector<Cell> way_cells(const Json& entry, const char* type) {
  if (!entry.contains(type)) return {{"no", Colour::kRed}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}};
  const Json& way = entry.at(type);
  const auto verdict = way.at("verdict").get<std::string>();
  std::string changed = "-";
  if (const Json decisions = way.value("decisions", Json::object()); decisions.contains("rows"))
    changed = fmt::format("{} of {}", decisions.value("flips", 0) + decisions.value("lost", 0),
                          decisions.at("rows").get<std::int64_t>());
  const auto text = [&](const Json::json_pointer& where) {
    return way.contains(where) && way.at(where).is_number() ? ratio_words(way.at(where).get<double>())
                                                            : std::string("-");
  };
  return {{way_words(way), colour_of(verdict)},
          {text(Json::json_pointer("/margin"))},
          {changed},
          {quality_words(way)},
          {text(Json::json_pointer("/speedup_over_fp32/value"))},
          {text(Json::json_pointer("/memory_to_fp32"))}};
}

std::string interval_words(const Json& ratio) {
  const std::string value = ratio_words(ratio.at("value").get<double>());
  if (!ratio.contains("interval")) return value;
  return fmt::format("{} ({} to {})", value, ratio_words(ratio["interval"].at(0).get<double>()),
                     ratio_words(ratio["interval"].at(1).get<double>()));
}

void print_table(const Json& entries, const Sources& sources) {
  std::vector<Column> columns{{"case"}, {"shape"}};
  if (sources.devices) columns.push_back({"device"});
  if (sources.records) columns.push_back({"record"});
  for (const char* type : {"FP16", "BF16"}) {
    for (const Column& column : {Column{type}, Column{"margin", true}, Column{"changed", true},
                                 Column{"quality"}, Column{"speed-up", true}, Column{"memory", true}})
      columns.push_back(column);
  }
  columns.push_back({"FP16 : BF16"});
  columns.push_back({"recommended"});
  std::vector<std::vector<Cell>> rows;
  for (const auto& entry : entries) {
    std::vector<Cell> row{{entry.at("case").get<std::string>()}, {entry.at("shape").get<std::string>()}};
    if (sources.devices) row.push_back({device_words(entry)});
    if (sources.records) row.push_back({entry.at("record").get<std::string>()});
    for (const char* type : {"fp16", "bf16"}) {
      for (auto& cell : way_cells(entry, type)) row.push_back(std::move(cell));
    }
    row.push_back({entry.contains("fp16_to_bf16") ? interval_words(entry["fp16_to_bf16"]) : "-"});
    row.push_back({entry.at("recommendation").at("in_words").get<std::string>()});
    rows.push_back(std::move(row));
  }
  fmt::print("{}\n", in_columns(columns, rows, wants_colour(STDOUT_FILENO)));
}

// Why a type may not run.
void print_refusals(const Json& entries, const Sources& sources) {
  for (const auto& entry : entries) {
    for (const auto& [type, name] : {std::pair("fp16", "FP16"), std::pair("bf16", "BF16")}) {
      if (entry.contains(type)) continue;
      const bool several = sources.devices || sources.records;
      const std::string device = several ? " on " + sources.words(entry) : std::string();
      fmt::print("{}/{}{}, {}: {}\n", entry.at("case").get<std::string>(),
                 entry.at("shape").get<std::string>(), device, name,
                 entry.at("absent").at(type).get<std::string>());
    }
  }
}

// How many cases each answer is right for, a line for each device or record.
void print_summary(const Json& entries, const Sources& sources) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto& entry : entries) {
    const Json& said = entry.at("recommendation");
    ++counts[sources.words(entry)][said.value("precision", std::string("none"))];
  }
  for (const auto& [device, answers] : counts) {
    std::vector<std::string> words;
    for (const auto& [precision, count] : answers) words.push_back(fmt::format("{} {}", count, precision));
    fmt::print("{}: {}\n", device, join(words, ", "));
  }
}

}  // namespace

results::ExitCode decide(const Options& options) {
  Json entries = Json::array();
  std::set<std::string> seen;
  for (const auto& path : options.records) {
    const Json record = results::read_record(path);
    if (!seen.insert(record.at("digest").get<std::string>()).second) {
      fmt::print(stderr, "ampgate: {} is there twice, and counted once\n", path);
      continue;
    }
    for (Json entry : results::choices(record)) {
      entry["record"] = record.at("id");
      entry["record_digest"] = record.at("digest");
      entry["device"] = record.at("device").at("name");
      if (record["device"].contains("model")) entry["model"] = record["device"]["model"];
      entries.push_back(std::move(entry));
    }
  }
  // Devices of one case stand together, in the order of the records.
  std::map<std::string, std::size_t> order;
  const auto name = [](const Json& entry) {
    return entry.at("case").get<std::string>() + "/" + entry.at("shape").get<std::string>();
  };
  for (const auto& entry : entries) order.emplace(name(entry), order.size());
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Json& a, const Json& b) { return order.at(name(a)) < order.at(name(b)); });
  if (options.json) {
    fmt::print("{}\n", results::to_text(entries, 2));
  } else if (options.csv) {
    fmt::print("{}", results::choices_csv(entries));
  } else {
    const Sources sources(entries);
    print_table(entries, sources);
    print_refusals(entries, sources);
    print_summary(entries, sources);
  }
  return results::ExitCode::kOk;
}

}  // namespace ampgate::driver
