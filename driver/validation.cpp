#include "driver/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "results/checkpoint_place.h"
#include "results/error.h"
#include "results/exit_code.h"

namespace ampgate::driver {
namespace {

using results::Json;
using results::Verdict;

class Validation {
 public:
  explicit Validation(Context& context) : context_(context), respawns_(context) {}

  void run() {
    close_invalid_baselines();
    WorkerSetup workers = context_.workers;
    workers.phase_deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(context_.rules.validation_limit_s));
    while (!pending().empty()) {
      const auto before = pending().size();
      const Ending ending = run_worker(workers, plan(), [this](const auto& name, const Json& event) {
        if (name == "environment") note_environment(context_, event);
        if (name == "trial_started") context_.progress.working_on(event.at("id").template get<std::string>());
        if (name == "trial_finished") accept(event);
      });
      if (ending.phase_over) return close_all();
      blame(ending);
      close_invalid_baselines();
      respawns_.note(pending().size() < before, ending);
    }
  }

 private:
  bool is_judged(const Trial& trial) const { return context_.data().trials.count(trial.id) != 0; }

  std::vector<Trial> pending() const {
    std::vector<Trial> left;
    std::copy_if(context_.trials.begin(), context_.trials.end(), std::back_inserter(left),
                 [&](const Trial& trial) { return !is_judged(trial); });
    return left;
  }

  // What is left, each case with its baseline, which says so when it was judged already.
  Json plan() const {
    Json plan = worker_plan(context_, "validate", 0);
    plan["checkpoints"] = checkpoint_folder(context_.journal).string();
    for (const auto& group : groups(context_.trials)) {
      if (std::all_of(group.begin(), group.end(), [&](const Trial& trial) { return is_judged(trial); }))
        continue;
      for (const auto& trial : group) {
        if (is_judged(trial) && trial.precision != kBaseline) continue;
        plan["trials"].push_back(planned(trial));
        if (is_judged(trial))
          plan["trials"].back()["verdict"] = context_.data().trials.at(trial.id).at("verdict");
      }
    }
    return plan;
  }

  void accept(const Json& event) {
    const auto id = event.at("id").get<std::string>();
    const auto trial = std::find_if(context_.trials.begin(), context_.trials.end(),
                                    [&](const Trial& candidate) { return candidate.id == id; });
    Json body = body_of(event);
    try {
      const auto verdict = results::verdict_from(body.at("verdict").get<std::string>());
      if (results::opens_gate(verdict, true) && !body.value("evidence", Json()).is_object()) {
        throw std::invalid_argument("no evidence beside " + std::string(results::to_string(verdict)));
      }
    } catch (const std::invalid_argument& error) {
      throw results::EnvironmentError("a worker answered trial '" + id + "': " + error.what(),
                                      "build the workers again");
    }
    body["case"] = trial->case_name;
    body["shape"] = shape_json(*trial);
    body["precision"] = trial->precision;
    if (!body.contains("reason")) body["reason"] = "";
    record(body);
  }

  void judge(const Trial& trial, Verdict verdict, const std::string& reason, Json checkpoints = Json()) {
    Json body{{"id", trial.id},
              {"case", trial.case_name},
              {"shape", shape_json(trial)},
              {"precision", trial.precision},
              {"verdict", results::to_string(verdict)},
              {"reason", reason},
              {"absent", {{"accuracy", reason}, {"evidence", reason}}}};
    if (!checkpoints.is_null()) body["checkpoints"] = std::move(checkpoints);
    record(body);
  }

  // What a training left before its worker died; null: it had not begun, or there is no training.
  Json left_checkpoints(const Trial& trial) const {
    try {
      return {{"start", results::kept_checkpoint(checkpoint_folder(context_.journal), trial.id, "start")},
              {"absent", {{"before_bad", "the worker ended in the training: in which step is not known"}}}};
    } catch (const results::FileError&) {
      return nullptr;
    }
  }

  void record(const Json& body) {
    context_.journal.append({{"trial", body}});
    const auto verdict = body.at("verdict").get<std::string>();
    context_.progress.advance(body.at("id").get<std::string>() + ": " + verdict,
                              verdict != "pass" && !results::is_needless(body));
  }

  void close_all() {
    const std::string reason = fmt::format(
        "the {} s that the rules give to the whole validation (validation_limit_s) ended before this "
        "trial had its answer",
        context_.rules.validation_limit_s);
    for (const auto& trial : pending()) judge(trial, Verdict::kTimedOut, reason);
  }

  // Whose fault was it that the worker did not answer?
  void blame(const Ending& ending) {
    if (ending.answered) {
      for (const auto& trial : pending()) {
        judge(trial, Verdict::kCrashed, "the worker ended without having answered this trial");
      }
      return;
    }
    const auto verdict = ending.timed_out ? Verdict::kTimedOut : Verdict::kCrashed;
    const std::string reason = (ending.timed_out ? "" : "the worker crashed: ") + ending.reason;
    for (const auto& trial : context_.trials) {
      if (trial.id != ending.in_flight) continue;
      if (!is_judged(trial)) {
        judge(trial, verdict, reason, left_checkpoints(trial));
      } else {
        close_group(trial, "the fp32 baseline, made again in a fresh process, failed: " + reason);
      }
      return;
    }
  }

  void close_group(const Trial& baseline, const std::string& reason) {
    for (const auto& trial : pending()) {
      if (trial.group() == baseline.group()) judge(trial, Verdict::kBaselineInvalid, reason);
    }
  }

  // Without a valid baseline nothing else of the case can be judged.
  void close_invalid_baselines() {
    for (const auto& trial : context_.trials) {
      if (trial.precision != kBaseline || !is_judged(trial) || opens_gate(context_, trial)) continue;
      const Json& baseline = context_.data().trials.at(trial.id);
      close_group(trial, "the fp32 baseline is " + baseline.at("verdict").get<std::string>() + ": " +
                             baseline.at("reason").get<std::string>());
    }
  }

  Context& context_;
  Respawns respawns_;
};

}  // namespace

void validate_trials(Context& context) { Validation(context).run(); }

}  // namespace ampgate::driver
