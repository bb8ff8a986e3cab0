#include "driver/bench_process.h"

#include <algorithm>

#include "driver/cpus.h"

namespace ampgate::driver {
namespace {

using results::Json;

using Groups = std::vector<std::vector<Trial>>;

// What one worker process said, before it is known which groups are complete.
struct Attempt {
  std::map<std::string, Json> answers;
  std::map<std::string, Json> rows;
};

class NumberedProcess {
 public:
  NumberedProcess(Context& context, BenchProcess process, const Schedule& schedule, Groups groups)
      : context_(context),
        process_(std::move(process)),
        schedule_(schedule),
        groups_(std::move(groups)),
        respawns_(context) {}

  void give(const std::string& id, const std::string& verdict, const std::string& reason) {
    answers_[id] = {{"id", id}, {"verdict", verdict}, {"reason", reason}};
  }

  Json run() {
    drop_groups_without_baseline();
    while (!groups_.empty()) {
      const auto left_before = trials_left();
      Attempt attempt;
      const Ending ending = run_worker(
          context_.workers, plan(), [&](const auto& name, const Json& event) { take(attempt, name, event); });
      take_totals(ending.done);
      settle(attempt, ending);
      drop_groups_without_baseline();
      respawns_.note(trials_left() < left_before, ending);
    }
    Json entry{{"process", process_.number}, {"mode", process_.mode}, {"look", process_.look},
               {"blocks", schedule_.blocks}, {"order_seed", order()}, {"samples", samples_},
               {"trials", answers_},         {"timed_ns", timed_ns_}, {"wall_ns", wall_ns_}};
    entry.update(conditions_);
    return entry;
  }

 private:
  std::uint32_t order() const {
    return order_seed(context_.data().header.at("plan").at("seed").get<std::uint64_t>(), process_.number);
  }

  void take_totals(const Json& done) {
    if (!done.is_object()) return;
    timed_ns_ += done.value("timed_ns", 0.0);
    wall_ns_ += done.value("wall_ns", 0.0);
    for (const auto* key : {"clock_ns", "conditions"}) {
      if (done.contains(key)) conditions_[key] = done.at(key);
    }
  }

  std::size_t trials_left() const {
    std::size_t count = 0;
    for (const auto& group : groups_) count += group.size();
    return count;
  }

  Json plan() const {
    Json plan = worker_plan(context_, "bench", process_.number);
    plan["bench"] = bench_settings(context_, schedule_, process_);
    if (process_.mode == "default-malloc") plan["settings"] = with_default_malloc(plan["settings"]);
    for (const auto& group : groups_) {
      for (const auto& trial : group) plan["trials"].push_back(planned_with_evidence(context_, trial));
    }
    return plan;
  }

  void take(Attempt& attempt, const std::string& name, const Json& event) {
    if (name == "environment") return note_environment(context_, event);
    const auto id = event.at("id").get<std::string>();
    if (name == "trial_started") context_.progress.working_on(id);
    if (name == "trial_finished") {
      results::measurement_verdict_from(event.at("verdict").get<std::string>());
      attempt.answers[id] = body_of(event);
    }
    if (name == "sample") {
      Json row{event.at("block").get<int>(), event.at("order").get<int>(),
               event.at("calls").get<std::int64_t>(), event.at("time_ns").get<double>(),
               event.value("page_faults", 0.0)};
      Json more = Json::object();
      for (const auto* key : {"disturbed", "call_times_ns", "device", "applied"}) {
        if (event.contains(key)) more[key] = event.at(key);
      }
      if (!more.empty()) row.push_back(std::move(more));
      attempt.rows[id].push_back(std::move(row));
    }
  }

  // Takes over the groups that are complete, and answers for the trial that ended the worker.
  void settle(Attempt& attempt, const Ending& ending) {
    Groups left;
    for (const auto& group : groups_) {
      const bool complete = std::all_of(group.begin(), group.end(), [&](const Trial& trial) {
        return attempt.answers.count(trial.id) != 0;
      });
      for (const auto& trial : group) {
        const auto answer = attempt.answers.find(trial.id);
        if (answer == attempt.answers.end()) {
          if (ending.answered)
            give(trial.id, "crashed", "the worker ended without having answered this trial");
        } else if (complete || ending.answered || answer->second.at("verdict") != "measured") {
          answers_[trial.id] = answer->second;
          if (attempt.rows.count(trial.id) != 0) samples_[trial.id] = attempt.rows.at(trial.id);
        }
      }
      if (!complete && !ending.answered) left.push_back(group);
    }
    if (!ending.answered && !ending.in_flight.empty() && !answers_.contains(ending.in_flight)) {
      // No number is made of them, but they were measured.
      if (attempt.rows.count(ending.in_flight) != 0)
        samples_[ending.in_flight] = attempt.rows.at(ending.in_flight);
      give(ending.in_flight, ending.timed_out ? "timed-out" : "crashed",
           (ending.timed_out ? "" : "the worker crashed: ") + ending.reason);
    }
    groups_ = std::move(left);
  }

  // Trials that have an answer leave their group; nothing is measured without its baseline beside it.
  void drop_groups_without_baseline() {
    for (auto& group : groups_) {
      std::erase_if(group, [&](const Trial& trial) { return answers_.contains(trial.id); });
      if (group.empty() || group.front().precision == kBaseline) continue;
      const auto baseline = group.front().group() + "/" + kBaseline;
      const std::string reason =
          answers_.contains(baseline) ? answers_[baseline].value("verdict", "") : "missing";
      for (const auto& trial : group) give(trial.id, "refused", "fp32 beside it: " + reason);
      group.clear();
    }
    std::erase_if(groups_, [](const auto& group) { return group.empty(); });
  }

  Context& context_;
  BenchProcess process_;
  const Schedule& schedule_;
  Groups groups_;
  Respawns respawns_;
  Json answers_ = Json::object();
  Json samples_ = Json::object();
  Json conditions_ = Json::object();
  double timed_ns_ = 0, wall_ns_ = 0;
};

}  // namespace

Json bench_settings(const Context& context, const Schedule& schedule, const BenchProcess& process) {
  // Long enough that a device's own readings of clock and power follow.
  constexpr std::int64_t kSustainedCell = 250'000'000;
  constexpr std::int64_t kFewestSustained = 40;
  const auto seed = context.data().header.at("plan").at("seed").get<std::uint64_t>();
  Json settings{{"blocks", schedule.blocks},
                {"cell_time_ns", static_cast<std::int64_t>(schedule.cell_time_ms * 1e6)},
                {"order_seed", order_seed(seed, process.number)},
                {"first_block", 0},
                {"mode", process.mode}};
  if (process.group_time_s)
    settings["group_time_ns"] =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(*process.group_time_s * 1e9));
  if (process.mode == "sustained") {
    const auto sustained_ns = static_cast<std::int64_t>(schedule.sustained_s * 1e9);
    settings["cell_time_ns"] = std::min(kSustainedCell, sustained_ns / kFewestSustained);
    settings["sustained_time_ns"] = sustained_ns;
  }
  return settings;
}

Json planned_with_evidence(const Context& context, const Trial& trial) {
  const Json& validated = context.data().trials.at(trial.id);
  Json entry = planned(trial);
  entry["verdict"] = validated.at("verdict");
  entry["evidence"] = validated.at("evidence");
  return entry;
}

BenchProcesses::BenchProcesses(Context& context, Schedule schedule,
                               std::map<std::string, std::string> refusals)
    : context_(context), schedule_(std::move(schedule)), refusals_(std::move(refusals)) {}

void BenchProcesses::run(const BenchProcess& process, const std::vector<std::vector<Trial>>& groups) {
  NumberedProcess numbered(context_, process, schedule_, groups);
  for (const auto& group : groups) {
    for (const auto& trial : group) {
      if (const auto refusal = refusals_.find(trial.id); refusal != refusals_.end()) {
        numbered.give(trial.id, "refused", refusal->second);
      }
    }
  }
  in_turn(context_, [&](const Json& turn) {
    Json entry = numbered.run();
    if (!turn.is_null()) entry["turn"] = turn;
    context_.journal.append({{"bench", std::move(entry)}});
  });
}

}  // namespace ampgate::driver
