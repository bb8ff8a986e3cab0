#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "driver/case_files.h"
#include "driver/commands.h"
#include "driver/cpus.h"
#include "driver/device.h"
#include "driver/execute.h"
#include "driver/names.h"
#include "driver/report.h"
#include "driver/resume_training.h"
#include "driver/run_plan.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::Json;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "ampgate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw results::EnvironmentError(
          "cannot make a temporary folder in " + fs::temp_directory_path().string(),
          "set TMPDIR to a folder that can be written");
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const Json& find_trial(const Json& record, const std::string& id) {
  std::vector<std::string> known;
  for (const auto& trial : record.at("trials")) {
    if (trial.at("id") == id) return trial;
    known.push_back(trial.at("id").get<std::string>());
  }
  throw results::UsageError("the record has no trial '" + id + "'", suggest(id, known));
}

std::vector<Trial> with_baseline(const Json& recorded) {
  Trial trial;
  trial.case_name = recorded.at("case").get<std::string>();
  trial.shape_name = recorded.at("shape").at("name").get<std::string>();
  for (const auto& [dim, size] : recorded.at("shape").at("dims").items()) {
    trial.dims.push_back(dim);
    trial.shape.push_back(size.get<std::int64_t>());
  }
  std::vector<Trial> trials;
  trial.precision = kBaseline;
  trial.id = trial.group() + "/" + kBaseline;
  trials.push_back(trial);
  trial.precision = recorded.at("precision").get<std::string>();
  trial.id = recorded.at("id").get<std::string>();
  if (trial.precision != kBaseline) trials.push_back(trial);
  return trials;
}

// Empty for what is no training.
std::string why_whole_training(const Json& trial) {
  if (!trial.contains("checkpoints")) return "";
  return trial.value(Json::json_pointer("/checkpoints/absent/before_bad"), "");
}

// Of the workers that judged the trial; one that crashed has no evidence that says so.
std::string build_of(const Json& record, const Json& trial) {
  const Json run = record.value(Json::json_pointer("/environment/worker/build_id"), Json(""));
  return trial.value(Json::json_pointer("/evidence/build_id"), run.get<std::string>());
}

Json outputs_of(const Json& trial) {
  return trial.value("evidence", Json::object()).value("outputs", Json());
}

}  // namespace

results::ExitCode reproduce(const Options& options) {
  const Json record = results::read_record(options.record);
  const Json& before = find_trial(record, options.trial);
  const Json& original = record.at("plan");
  const WorkerFolder folder = find_worker_and_cases(options);
  check_same_files(original.value("files", Json()), folder, options.record);

  RunPlan plan;
  plan.command = "reproduce";
  const auto wanted = options.device.empty() ? original.at("device").get<std::string>() : options.device;
  plan.device = choose_devices(wanted, folder).front().name;
  plan.suite = original.at("suite").get<std::string>();
  plan.seed = original.at("seed").get<std::uint64_t>();
  plan.rules = results::parse_rules(record.at("rules").dump(), options.record + ": /rules");
  plan.settings = process_settings(with_recorded_settings(options, original.at("settings")));
  plan.trials = with_baseline(before);
  plan.phases = {"validate"};
  const bool from_checkpoint = resumes(options, before, original.at("device").get<std::string>());
  if (from_checkpoint)
    plan.trials = {resumed_trial(options, before, plan.trials.back(), folder.manifest.precisions)};

  const TemporaryFolder scratch;
  Options there = options;
  there.archive = scratch.path().string();
  const auto environment = child_environment(plan.settings.at("threads").get<int>());
  auto journal = open_journal(there, journal_header(plan, there, folder, environment));
  Progress progress(options.json);
  Context context = make_context(journal, progress, folder);
  const std::string build = build_of(record, before);
  const bool same_build = build.empty() || build == folder.manifest.build_id;
  if (from_checkpoint) return resume_training(options, before, same_build, context);
  execute(context);
  const Json& now = context.data().trials.at(options.trial);

  const bool same_verdict = before.at("verdict") == now.at("verdict");
  const bool same_output = outputs_of(before) == outputs_of(now);
  const Json result{{"id", options.trial},
                    {"same", same_verdict && same_output},
                    {"verdict", {{"record", before.at("verdict")}, {"now", now.at("verdict")}}},
                    {"reason", {{"record", before.at("reason")}, {"now", now.at("reason")}}},
                    {"outputs", {{"record", outputs_of(before)}, {"now", outputs_of(now)}}},
                    {"same_build", same_build}};
  if (options.json) {
    fmt::print("{}\n", results::to_text(result, 2));
  } else {
    fmt::print("verdict: {} ({} in the record, {} now)\n", same_verdict ? "same" : "different",
               before.at("verdict").get<std::string>(), now.at("verdict").get<std::string>());
    fmt::print("output: {}\n", same_output ? "same bits" : "different bits");
    if (const std::string why = why_whole_training(before); !why.empty())
      fmt::print("The whole training ran again: {}\n", why);
    if (!now.at("reason").get<std::string>().empty())
      fmt::print("reason now: {}\n", now.at("reason").get<std::string>());
    if (!result.at("same_build").get<bool>())
      fmt::print("The workers here are of another build than the record's.\n");
  }
  return same_verdict && same_output ? results::ExitCode::kOk : results::ExitCode::kFailed;
}

}  // namespace ampgate::driver
