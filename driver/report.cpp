#include "driver/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "driver/answer.h"
#include "driver/changed_decisions.h"
#include "driver/execute.h"
#include "driver/interrupt.h"
#include "driver/kept_checkpoints.h"
#include "driver/machine.h"
#include "driver/modes_table.h"
#include "driver/previous_run.h"
#include "driver/quality_table.h"
#include "driver/quoting.h"
#include "driver/sweep_table.h"
#include "driver/table.h"
#include "driver/training_table.h"
#include "driver/update_times.h"
#include "results/exit_code.h"
#include "results/record.h"
#include "results/sealed.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::Json;

void print_lines(const std::vector<std::string>& lines, std::string_view indent) {
  for (const auto& line : lines) fmt::print("{}{}\n", indent, line);
}

// A log is of use where a worker failed; else it is chatter.
bool log_matters(const Json& record) {
  const auto failed = [](const Json& object) {
    const auto verdict = object.value("verdict", "");
    return verdict == "crashed" || verdict == "timed-out";
  };
  return std::any_of(record.at("trials").begin(), record.at("trials").end(), [&](const Json& trial) {
    return failed(trial) || failed(trial.value("measurement", Json::object()));
  });
}

std::string how_to_resume(const results::Journal& journal) {
  // Nothing is loaded that the command line does not name.
  const Json files = journal.data().header.at("plan").value("files", Json::object());
  return "Go on with: ampgate run --resume " + journal.path().string() +
         option_for_each("--load-library", files.value("libraries", Json::array())) +
         option_for_each("--case-file", files.value("cases", Json::array()));
}

void explain_stop(const results::Journal& journal) {
  std::error_code ignored;
  if (journal.data().trials.empty()) {
    fs::remove(journal.path(), ignored);
    fs::remove_all(checkpoint_folder(journal), ignored);
    return;
  }
  const auto text = fmt::format("ampgate: {} finished trials are kept. {}\n", journal.data().trials.size(),
                                how_to_resume(journal));
  std::fputs(text.c_str(), stderr);
}

}  // namespace

results::Journal open_journal(const Options& options, Json header) {
  std::string folder = header.at("plan").at("device").get<std::string>();
  std::replace(folder.begin(), folder.end(), ':', '-');  // a colon means a host to scp and rsync
  const auto name = header.at("run").at("id").get<std::string>() + ".journal.jsonl";
  return results::Journal::create(fs::path(options.archive) / folder / name, std::move(header));
}

void print_record(const Options& options, const std::string& text, const std::string& path) {
  if (options.json) {
    fmt::print("{}", text);
    return;
  }
  const Json record = Json::parse(text);
  if (!options.quiet) {
    const bool colour = wants_colour(STDOUT_FILENO);
    fmt::print("\n{}\n", table(record, colour));
    for (const auto& part : {quality_table(record, colour), training_table(record, colour),
                             update_times_table(record, colour), sweep_table(record, colour),
                             modes_table(record, colour), ceilings_line(record), disturbed_line(record)}) {
      if (!part.empty()) fmt::print("{}\n", part);
    }
    if (const auto lines = findings(record); !lines.empty()) {
      fmt::print("Findings (on edge inputs; they refuse nothing):\n");
      print_lines(lines, "  ");
      fmt::print("\n");
    }
    if (const auto lines = changed_decisions(record); !lines.empty()) {
      fmt::print("Decisions that changed against FP32 (fp32: against FP64):\n");
      print_lines(lines, "  ");
      fmt::print("\n");
    }
  }
  print_lines(record.value("answer", std::vector<std::string>{}), "");
  if (options.quiet) return;
  print_lines(replay_lines(record, path, options.worker), "");
  fmt::print("\nRecord: {}\n", path);
}

results::ExitCode complete(const Options& options, const WorkerFolder& folder, results::Journal journal) {
  set_last_words("\nampgate: ended at once. " + how_to_resume(journal) + "\n");
  try {
    Progress progress(options.quiet);
    std::optional<Turns> turns;
    if (!options.in_turns.empty()) turns.emplace(options.in_turns, options.runs_in_turns);
    Context context = make_context(journal, progress, folder);
    context.turns = turns ? &*turns : nullptr;
    execute(context);
    Json record = results::build_record(context.data(), context.rules, utc_now());
    const fs::path device_folder = fs::absolute(journal.path()).parent_path();
    for (const auto& warning : compare_with_previous_run(record, context.rules, device_folder))
      progress.warn(warning);
    record["answer"] = answer(record);
    if (auto words = relaxed_words(record); !words.empty()) record["answer"].push_back(std::move(words));
    const std::string text = results::seal(record);
    set_last_words("");
    journal.finish(text);
    std::error_code ignored;
    if (!log_matters(record)) fs::remove(context.workers.log, ignored);
    progress.say("");
    print_record(options, text, journal.record_path().string());
    return results::exit_code(record, context.rules);
  } catch (const results::GateError&) {
    std::error_code ignored;
    fs::remove(journal.path(), ignored);
    throw;
  } catch (...) {
    explain_stop(journal);
    set_last_words("");
    throw;
  }
}

}  // namespace ampgate::driver
