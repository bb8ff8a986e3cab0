#include "results/archive.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "driver/columns.h"
#include "driver/commands.h"
#include "driver/names.h"
#include "driver/prune.h"
#include "driver/report.h"
#include "driver/terminal.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::Archive;
using results::ArchivedFile;
using results::ExitCode;
using results::Json;

// What a run's exit code says, in a word.
Cell outcome(const Json& summary) {
  switch (static_cast<ExitCode>(summary.at("exit_code").get<int>())) {
    case ExitCode::kOk:
      return {"good", Colour::kGreen};
    case ExitCode::kSlower:
      return {"below target", Colour::kRed};
    case ExitCode::kIncomparable:
      return {"undecided", Colour::kYellow};
    default:
      return {"failed", Colour::kRed};
  }
}

std::string verdict_words(const Json& verdicts) {
  std::vector<std::string> words;
  for (const auto& [verdict, count] : verdicts.items())
    words.push_back(fmt::format("{} {}", count.get<int>(), verdict));
  return join(words, ", ");
}

bool is_wanted(const ArchivedFile& file, const Options& options) {
  if (!file.problem.empty()) return options.device.empty();
  const Json& device = file.summary.at("device");
  return options.device.empty() || matches(options.device, device.at("name").get<std::string>()) ||
         matches(options.device, device.value("model", ""));
}

Json listed(const ArchivedFile& file) {
  Json entry{{"path", file.path.generic_string()}, {"bytes", file.bytes}};
  if (file.problem.empty()) {
    entry.update(file.summary);
  } else {
    entry["problem"] = file.problem;
  }
  return entry;
}

void print_json(const Archive& archive, const std::vector<ArchivedFile>& files) {
  Json document{{"archive", archive.folder().string()}, {"records", Json::array()}, {"journals", Json::array()}};
  for (const auto& file : files) document["records"].push_back(listed(file));
  for (const auto& journal : archive.journals())
    document["journals"].push_back(journal.lexically_relative(archive.folder()).generic_string());
  fmt::print("{}\n", results::to_text(document, 2));
}

void print_problems(const std::vector<ArchivedFile>& files) {
  for (const auto& file : files) {
    if (!file.problem.empty()) fmt::print("{}\n", file.problem);
  }
}

void print_journals(const Archive& archive) {
  for (const auto& journal : archive.journals()) {
    fmt::print("Not finished: {} (running, or go on with: ampgate run --resume {})\n",
               journal.lexically_relative(archive.folder()).string(), journal.string());
  }
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

ExitCode archive_list(const Options& options) {
  const Archive archive(options.archive);
  std::vector<ArchivedFile> files = archive.files();
  std::erase_if(files, [&](const ArchivedFile& file) { return !is_wanted(file, options); });
  if (options.json) {
    print_json(archive, files);
    return ExitCode::kOk;
  }
  std::vector<std::vector<Cell>> rows;
  for (const auto& file : files) {
    if (!file.problem.empty()) continue;
    const Json& summary = file.summary;
    const Json& device = summary.at("device");
    rows.push_back({{summary.at("id").get<std::string>()},
                    {device.at("name").get<std::string>()},
                    {device.value("model", "")},
                    {summary.at("command").get<std::string>()},
                    {summary.at("suite").get<std::string>()},
                    outcome(summary),
                    {std::to_string(summary.at("trials").get<int>())},
                    {std::to_string(summary.at("measured").get<int>())},
                    {verdict_words(summary.at("verdicts"))}});
  }
  if (!rows.empty()) {
    fmt::print("{}\n", in_columns({{"record"}, {"device"}, {"model"}, {"command"}, {"suite"}, {"run"},
                                   {"trials", true}, {"measured", true}, {"verdicts"}},
                                  rows, wants_colour(STDOUT_FILENO)));
  }
  print_problems(files);
  print_journals(archive);
  fmt::print("{} in {}.\n", counted(rows.size(), "record"), archive.folder().string());
  return ExitCode::kOk;
}

ExitCode archive_show(const Options& options) {
  const Archive archive(options.archive);
  const ArchivedFile file = archive.find(options.record);
  const std::string place = archive.place(file).string();
  print_record(options, results::to_text(results::read_record(place)) + "\n", place);
  return ExitCode::kOk;
}

ExitCode archive_verify(const Options& options) {
  const Archive archive(options.archive);
  const std::vector<ArchivedFile> files = archive.verified_files();
  const auto wrong = static_cast<std::size_t>(std::count_if(
      files.begin(), files.end(), [](const ArchivedFile& file) { return !file.problem.empty(); }));
  if (options.json) {
    print_json(archive, files);
  } else {
    print_problems(files);
    print_journals(archive);
    fmt::print("{} read: {}.\n", counted(files.size(), "file"),
               wrong == 0 ? "every one is as it was written" : counted(wrong, "file") + " cannot be trusted");
  }
  return wrong == 0 ? ExitCode::kOk : ExitCode::kUsage;
}

ExitCode archive_prune(const Options& options) {
  const Archive archive(options.archive);
  const std::vector<Pruned> chosen = choose_for_pruning(archive, *options.keep_records);
  std::uintmax_t bytes = 0;
  for (const auto& entry : chosen) {
    if (!entry.why_kept.empty()) {
      fmt::print("kept     {}: {}\n", entry.file.path.string(), entry.why_kept);
      continue;
    }
    if (!options.dry_run && !remove_record(archive, entry.file)) continue;
    bytes += entry.file.bytes;
    fmt::print("{} {}\n", options.dry_run ? "would go" : "removed ", entry.file.path.string());
  }
  const auto gone = static_cast<std::size_t>(std::count_if(
      chosen.begin(), chosen.end(), [](const Pruned& entry) { return entry.why_kept.empty(); }));
  fmt::print("{} {}, {:.1f} MB.\n", counted(gone, "record"), options.dry_run ? "would be removed" : "removed",
             static_cast<double>(bytes) / 1e6);
  return ExitCode::kOk;
}

}  // namespace ampgate::driver
