#include "driver/sweep_table.h"

#include <fmt/format.h>

#include <cstdint>

#include "driver/columns.h"
#include "driver/names.h"
#include "driver/words.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string size_words(const Json& size) { return std::to_string(size.get<std::int64_t>()); }

// "2.81 (2.70 to 2.92)"
std::string exponent(const Json& section, const char* key) {
  if (!section.contains(key)) return "-";
  const Json& found = section.at(key);
  if (found.is_number()) return fmt::format("{:.2f}", found.get<double>());
  std::string text = fmt::format("{:.2f}", found.at("value").get<double>());
  if (!found.contains("interval")) return text + " (not clear)";
  text += fmt::format(" ({:.2f} to {:.2f})", found["interval"][0].get<double>(),
                      found["interval"][1].get<double>());
  return text;
}

std::string pays_where(const Json& section) {
  const auto where = section["pays"].at("where").get<std::string>();
  if (where == "from") return "from " + size_words(section["pays"].at("size"));
  if (where == "up-to") return "up to " + size_words(section["pays"].at("size"));
  if (where == "mixed") return "at some sizes";
  return where == "never" ? "not shown in this range" : "always in this range";
}

std::string pays(const Json& section) {
  if (!section.contains("pays")) return "-";
  const int unclear = section["pays"].value("unclear_sizes", 0);
  const std::string text = pays_where(section);
  return unclear == 0 ? text : text + fmt::format(", {} size{} not clear", unclear, unclear == 1 ? "" : "s");
}

std::string largest(const Json& section) {
  if (!section.contains("largest_that_fits")) return "-";
  const Json& found = section["largest_that_fits"];
  return (found.at("at_least").get<bool>() ? "at least " : "") + size_words(found.at("size")) +
         (found.at("predicted").get<bool>() ? " (predicted)" : "");
}

// "m, n, k", "all sizes"
std::string swept(const Json& record) {
  const auto dims = record.at("sweep").at("dims").get<std::vector<std::string>>();
  return dims == std::vector<std::string>{"all"} ? "all sizes" : join(dims, ", ");
}

std::string range(const Json& sizes) {
  if (sizes.empty()) return "none";
  return size_words(sizes.front()) + " to " + size_words(sizes.back());
}

// Sizes of the range that were not run, the first with the reason.
std::string left_out(const Json& record, const Json& of_case) {
  int count = 0;
  std::string first;
  for (const auto& point : record.at("plan").at("sweep").at("points")) {
    if (point.at("case") != of_case.at("case") || !point.contains("left_out")) continue;
    if (count++ == 0)
      first = point.at("shape").get<std::string>() + ": " + point.at("left_out").get<std::string>();
  }
  return count == 0 ? ""
                    : fmt::format("; {} size{} left out ({})", count, count == 1 ? " was" : "s were", first);
}

}  // namespace

std::string sweep_table(const Json& record, bool colour) {
  if (!record.contains("sweep")) return {};
  const Json& sweep = record.at("sweep");
  std::vector<std::vector<Cell>> rows;
  for (const auto& of_case : sweep.at("cases")) {
    for (const auto& section : of_case.at("precisions")) {
      rows.push_back({{of_case.at("case").get<std::string>()},
                      {section.at("precision").get<std::string>()},
                      {range(section.at("sizes"))},
                      {exponent(section, "time_exponent")},
                      {exponent(section, "memory_exponent")},
                      {pays(section)},
                      {largest(section)}});
    }
  }
  return "Sweep over " + swept(record) + ":\n" +
         in_columns({{"case"},
                     {"precision"},
                     {"sizes"},
                     {"time ~ size^"},
                     {"memory ~ size^"},
                     {"pays"},
                     {"a call fits up to"}},
                    rows, colour);
}

std::vector<std::string> sweep_words(const Json& record) {
  std::vector<std::string> sentences;
  if (!record.contains("sweep")) return sentences;
  for (const auto& of_case : record.at("sweep").at("cases")) {
    std::string text =
        fmt::format("Sweep of {} over {}:", of_case.at("case").get<std::string>(), swept(record));
    for (const auto& section : of_case.at("precisions")) {
      const auto precision = section.at("precision").get<std::string>();
      if (precision == "fp32") {
        text += fmt::format(" fp32's time grows as size^{}, a call of it fits up to size {}",
                            exponent(section, "time_exponent"), largest(section));
      } else if (section.contains("pays")) {
        text += fmt::format("; {} pays {}", precision, pays(section));
      }
    }
    if (const auto lost = of_case.at("without_time").size(); lost > 0)
      text += fmt::format("; {} trials have no time", lost);
    sentences.push_back(text + left_out(record, of_case) + ".");
  }
  return sentences;
}

}  // namespace ampgate::driver
