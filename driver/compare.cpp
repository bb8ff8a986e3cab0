#include <fmt/format.h>
#include <unistd.h>

#include "driver/columns.h"
#include "driver/commands.h"
#include "driver/names.h"
#include "driver/terminal.h"
#include "results/archive.h"
#include "results/comparison.h"
#include "results/durable_file.h"
#include "results/exports.h"
#include "results/kept_comparison.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr std::size_t kMostChanges = 4;  // of one kind in the text; all are in the JSON

Colour time_colour(const std::string& word) {
  if (word == "same" || word == "faster") return Colour::kGreen;
  return word == "ambiguous" ? Colour::kYellow : Colour::kRed;
}

// `part` is the trial, or one of its modes.
std::vector<Cell> row(const std::string& name, const Json& part) {
  std::vector<Cell> cells(4, {"-"});
  cells[0].text = name;
  if (part.contains("refused")) {
    cells[1] = {"refused", Colour::kRed};
    cells[3].text = part["refused"].at("in_words");
  } else if (part.contains("time")) {
    const Json& time = part["time"];
    const auto verdict = time.at("verdict").get<std::string>();
    cells[1] = {verdict, time_colour(verdict)};
    cells[2].text = fmt::format("{:.3f}", time.at("ratio").get<double>());
    cells[3].text = time.at("in_words");
  } else {
    cells[3].text = part.at("absent").at("time");
  }
  return cells;
}

// The trial by its id, then each of its modes, with their parts of the result.
template <typename Visit>
void for_each_part(const Json& trial, Visit visit) {
  const auto id = trial.at("id").get<std::string>();
  visit(id, trial);
  const Json variants = trial.value("variants", Json::object());
  for (const auto& [mode, part] : variants.items()) visit(id + " " + mode, part);
}

std::string change_words(const Json& change) {
  const auto value = [&](const char* side) {
    return change.contains(side) ? results::to_text(change.at(side)) : std::string("nothing");
  };
  return value("a") + " to " + value("b");
}

std::string operator_names(const Json& operators) {
  std::vector<std::string> names;
  for (const auto& entry : operators) names.push_back(entry.value("name", "?"));
  return names.empty() ? "none" : join(names, ", ");
}

// "exp/1001/fp32: verdict from pass to crashed" and so on, a line for each kind of change.
std::vector<std::string> change_lines(const Json& trial) {
  std::vector<std::string> lines;
  const std::string id = trial.at("id").get<std::string>() + ": ";
  const auto add_verdict = [&](const std::string& name, const Json& part, const char* key, const char* what) {
    if (!part.contains(key)) return;
    lines.push_back(fmt::format("{}: {} from {} to {}", name, what, part[key].at("a").get<std::string>(),
                                part[key].at("b").get<std::string>()));
  };
  add_verdict(trial.at("id").get<std::string>(), trial, "verdict", "verdict");
  for_each_part(trial, [&](const std::string& name, const Json& part) {
    add_verdict(name, part, "measurement_verdict", "measurement");
  });
  for (const auto* key : {"accuracy", "decisions", "regression", "training", "memory"}) {
    if (!trial.contains(key)) continue;
    std::vector<std::string> words;
    for (const auto& change : trial.at(key)) {
      if (words.size() == kMostChanges) break;
      words.push_back(change.at("field").get<std::string>() + " from " + change_words(change));
    }
    const std::size_t more = trial.at(key).size() - words.size();
    lines.push_back(fmt::format("{}{} {}{}", id, key, join(words, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  if (trial.contains("changed_decisions")) {
    const Json& changed = trial.at("changed_decisions");
    lines.push_back(fmt::format("{}id {} decided {} ({} such decisions shown in the JSON)", id,
                                results::to_text(changed.at(0).at("id")), change_words(changed.at(0)),
                                changed.size()));
  }
  if (trial.contains("operators")) {
    lines.push_back(fmt::format("{}operators only in A: {}; only in B: {}", id,
                                operator_names(trial["operators"].at("only_in_a")),
                                operator_names(trial["operators"].at("only_in_b"))));
  }
  return lines;
}

void print_side(const char* name, const Json& side) {
  fmt::print("{}  {}  {}\n", name, side.at("id").get<std::string>(),
             side.value("model", side.at("device").get<std::string>()));
}

void print_list(const Json& comparison, const char* key, const char* head) {
  if (!comparison.contains(key)) return;
  fmt::print("{}: {}\n", head, join(comparison.at(key).get<std::vector<std::string>>(), ", "));
}

// A claim of a few percent that rests on two runs at different times.
bool claims_across_time(const Json& comparison) {
  bool claims = false;
  for (const auto& trial : comparison.at("trials")) {
    for_each_part(trial, [&](const std::string&, const Json& part) {
      const Json time = part.value("time", Json::object());
      const auto verdict = time.value("verdict", "");
      claims = claims || ((verdict == "slower" || verdict == "faster") && !time.at("in_turns").get<bool>());
    });
  }
  return claims;
}

void print_text(const Json& comparison) {
  print_side("A", comparison.at("a"));
  print_side("B", comparison.at("b"));
  for (const auto& difference : comparison.at("differences")) {
    fmt::print("differs: {}\n", difference.at("in_words").get<std::string>());
  }
  std::vector<std::vector<Cell>> rows;
  for (const auto& trial : comparison.at("trials")) {
    for_each_part(trial, [&](const std::string& name, const Json& part) { rows.push_back(row(name, part)); });
  }
  if (!rows.empty()) {
    const auto text =
        in_columns({{"trial"}, {"time"}, {"B : A", true}, {"in words"}}, rows, wants_colour(STDOUT_FILENO));
    fmt::print("\n{}", text);
  }
  fmt::print("\n");
  for (const auto& trial : comparison.at("trials")) {
    for (const auto& line : change_lines(trial)) fmt::print("{}\n", line);
  }
  if (claims_across_time(comparison)) {
    fmt::print(
        "A and B did not take turns: the machine's own speed may have changed between them. To see the code "
        "alone, measure both with bench --in-turns.\n");
  }
  print_list(comparison, "only_in_a", "Only in A");
  print_list(comparison, "only_in_b", "Only in B");
}

// "Of 5 trials: 1 slower, 4 same."
std::string answer(const Json& summary) {
  if (summary.at("trials") == 0) return "The records have no trial in common.";
  std::vector<std::string> words;
  const auto add = [&](const char* key, const std::string& text) {
    if (const int count = summary.at(key).get<int>(); count > 0)
      words.push_back(fmt::format("{} {}", count, text));
  };
  add("worse", "with a worse verdict");
  add("better", "with a better verdict");
  for (const auto* key : {"slower", "faster", "same", "ambiguous", "refused"}) add(key, key);
  add("measured_by_one", "measured in one record only");
  if (words.empty()) words.push_back("no verdict changed, no time was compared");
  return fmt::format("Of {} trial{}: {}.", summary.at("trials").get<int>(),
                     summary.at("trials") == 1 ? "" : "s", join(words, ", "));
}

results::ExitCode exit_code(const Json& summary) {
  const auto any = [&](const char* key) { return summary.at(key).get<int>() > 0; };
  if (any("worse")) return results::ExitCode::kFailed;
  if (any("slower")) return results::ExitCode::kSlower;
  const bool undecided = any("refused") || any("ambiguous") || any("measured_by_one") || !any("trials");
  return undecided ? results::ExitCode::kIncomparable : results::ExitCode::kOk;
}

// The record that B is compared with, when the archive is to find it: the golden one of B's rules, else the
// last good run.
std::string baseline(const results::Archive& archive, const Json& b) {
  const auto rules = results::parse_rules(b.at("rules").dump(), "/rules");
  const auto golden = results::golden_record(rules, b.at("device").value("model", ""));
  if (!golden.empty()) return archive.place(archive.find(golden)).string();
  if (const auto found = archive.last_good_before(b)) return archive.place(*found).string();
  const Json& device = b.at("device");
  throw results::Error(
      results::ExitCode::kIncomparable,
      fmt::format("{}: no good run of this device ({}) in suite {} before {}", archive.folder().string(),
                  device.value("model", device.at("name").get<std::string>()),
                  b.at("plan").at("suite").get<std::string>(), b.at("id").get<std::string>()),
      "ampgate archive list shows what there is; or name the record: ampgate compare A B");
}

void print(const Options& options, const Json& comparison) {
  if (options.json) {
    fmt::print("{}\n", results::to_text(comparison, 2));
    return;
  }
  if (!options.quiet) print_text(comparison);
  fmt::print("{}\n", answer(comparison.at("summary")));
}

Json compared(const Json& a, const Json& b) {
  if (a.at("digest") == b.at("digest")) {
    throw results::UsageError("A and B are the same record", "give two records: ampgate compare A B");
  }
  return results::compare_records(a, b);
}

}  // namespace

results::ExitCode compare(const Options& options) {
  Json comparison;
  if (options.against_archive) {
    const results::Archive archive(options.archive);
    const Json b = results::read_record(options.record);
    comparison = compared(results::read_record(baseline(archive, b)), b);
    results::keep_comparison(archive.folder(), comparison);
  } else {
    comparison = compared(results::read_record(options.record), results::read_record(options.other));
  }
  if (!options.junit.empty()) results::write_in_place(options.junit, results::junit_of_comparison(comparison));
  print(options, comparison);
  return exit_code(comparison.at("summary"));
}

}  // namespace ampgate::driver
