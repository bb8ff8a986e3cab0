#include "validate/islands/island_search.h"

#include <chrono>
#include <map>
#include <stdexcept>

#include "precision/formats.h"
#include "precision/region.h"
#include "validate/islands/minimal_set.h"
#include "validate/islands/operator_search.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using Regions = std::vector<std::string>;

constexpr int kFreshInputs = 3;

struct BudgetSpent : std::runtime_error {
  BudgetSpent() : std::runtime_error("half of the trial's time limit was spent on the search") {}
};

class Search {
 public:
  Search(CaseSetup& setup, const precision::Precision& precision, const cases::Outputs& baseline)
      : setup_(setup),
        precision_(precision),
        baseline_(baseline),
        baseline_run_(watched_run(setup.session, setup.definition, setup.original, precision::baseline())) {}

  IslandAnswer find(const Judgement& failed) {
    const WatchedRun run = watch({});
    for (const auto& call : run.calls) {
      if (!call.region.empty() && !contains(all_, call.region)) all_.push_back(call.region);
    }
    answer_.json = {{"needed", true},
                    {"healed", false},
                    {"criterion", "the whole trial's verdict opens the gate"},
                    {"inputs", "ordinary and boundary inputs of seed " + std::to_string(setup_.session.seed)},
                    {"all_regions", all_}};
    try {
      failed.verdict == results::Verdict::kNonfinite ? chase(run) : search();
    } catch (const BudgetSpent& spent) {
      if (!best_)
        answer_.reason = "no set of FP32 islands was found for " + plain_name() + ": " + spent.what();
      answer_.json["stopped"] = spent.what();
    }
    if (best_) report();
    answer_.json["runs"] = runs_;
    return std::move(answer_);
  }

 private:
  static bool contains(const Regions& set, const std::string& region) {
    return std::find(set.begin(), set.end(), region) != set.end();
  }

  WatchedRun watch(const Regions& islands) {
    ++runs_;
    const precision::IslandScope scope(islands);
    return watched_run(setup_.session, setup_.definition, setup_.original, precision_);
  }

  // Judges the whole trial; the smallest set that heals so far is kept with its answer.
  bool heals(const Regions& islands) {
    Regions key = islands;
    std::sort(key.begin(), key.end());
    if (const auto known = tried_.find(key); known != tried_.end()) return known->second;
    if (std::chrono::steady_clock::now() > deadline_) throw BudgetSpent();
    ++runs_;
    const precision::IslandScope scope(islands);
    TrialAnswer answer = judge_trial(setup_, precision_, &baseline_);
    const bool healed =
        results::opens_gate(answer.judgement.verdict, setup_.session.rules.suspect_opens_gate);
    if (healed && (!best_ || islands.size() < best_->size())) {
      best_ = islands;
      answer_.healed = std::move(answer);
    } else if (!healed) {
      last_failure_ =
          std::string(results::to_string(answer.judgement.verdict)) + ": " + answer.judgement.reason;
    }
    return tried_[key] = healed;
  }

  std::string plain_name() const { return std::string(precision::without_islands(precision_).name); }

  void give_up(const std::string& why) {
    answer_.reason = "no set of FP32 islands heals " + plain_name() + ": " + why;
  }

  void chase(const WatchedRun& plain) {
    answer_.json["search"] = "first bad operator";
    Regions islands = around_operators(plain);
    for (WatchedRun run = watch(islands);; run = watch(islands)) {
      const auto bad = first_bad(run, baseline_run_);
      if (!bad) break;
      const Regions more = regions_behind(run, *bad, islands);
      if (more.empty()) {
        const auto& call = run.calls[*bad];
        return search(call.name + (call.region.empty()
                                       ? " turns finite values into infinite ones outside of all regions"
                                       : " is not finite in region " + call.region + ", even in FP32"));
      }
      islands.insert(islands.end(), more.begin(), more.end());
    }
    if (!heals(islands)) return search();
    minimise(prune(islands, judge()));
  }

  // The region of a bad call. If that one is an island, or there is none, those that made its operands: they
  // may have underflowed there.
  static Regions regions_behind(const WatchedRun& run, std::size_t bad, const Regions& islands) {
    const auto is_new = [&](const TracedCall& call) {
      return !call.region.empty() && !contains(islands, call.region);
    };
    if (is_new(run.calls[bad])) return {run.calls[bad].region};
    Regions regions;
    for (const std::size_t call : producers(run.calls, bad, is_new)) {
      if (!contains(regions, run.calls[call].region)) regions.push_back(run.calls[call].region);
    }
    return regions;
  }

  // The regions around the smallest set of single operators.
  Regions around_operators(const WatchedRun& plain) {
    const OperatorSet set = smallest_operator_set(setup_, precision_, baseline_run_);
    Json calls = Json::array();
    Regions regions;
    for (const std::size_t number : set.calls) {
      const auto& call = plain.calls.at(number);
      calls.push_back({{"index", number}, {"name", call.name}, {"region", call.region}});
      if (!call.region.empty() && !contains(regions, call.region)) regions.push_back(call.region);
    }
    Json& json = answer_.json["operators"];
    json = {{"criterion", "outputs are finite where the FP32 baseline's are"}, {"runs", set.runs}};
    if (set.problem.empty()) {
      json["set"] = std::move(calls);
    } else {
      json["absent"] = {{"set", set.problem}};
    }
    return regions;
  }

  // `known`: what the chase found, for the reason.
  void search(const std::string& known = "") {
    answer_.json["search"] = "delta debugging";
    const std::string before = known.empty() ? "" : known + "; ";
    if (all_.empty()) return give_up(before + "the model names no regions that could stay in FP32");
    if (!heals(all_)) {
      return give_up(before + "with all " + std::to_string(all_.size()) + " regions in FP32 it is still " +
                     last_failure_);
    }
    minimise(delta_debug(all_, judge()));
  }

  Heals<std::string> judge() {
    return [this](const Regions& set) { return heals(set); };
  }

  // `set` is 1-minimal: each removal was judged. Looks for others of its size.
  void minimise(const Regions& set) {
    minimal_ = true;
    Json alternatives = Json::array();
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (const auto& other : all_) {
        if (contains(set, other)) continue;
        Regions changed = set;
        changed[i] = other;
        if (heals(changed)) alternatives.push_back(std::move(changed));
      }
    }
    answer_.json["alternatives"] = std::move(alternatives);
  }

  void report() {
    answer_.regions = *best_;
    const WatchedRun run = watch(*best_);
    const double largest = run.largest / precision::format_of(precision_.type).max;
    answer_.json.update({{"healed", true},
                         {"regions", *best_},
                         {"minimal", minimal_},
                         {"largest_value", results::number(run.largest)},
                         {"share_of_maximum", results::number(largest)},
                         {"fresh_inputs", fresh_inputs()}});
  }

  // Does the set heal on inputs of other seeds as well?
  Json fresh_inputs() {
    int healed = 0;
    int tried = 0;
    for (int i = 1; i <= kFreshInputs; ++i) {
      Session session = setup_.session;
      session.seed += static_cast<std::uint64_t>(i);
      CaseSetup fresh(session, setup_.definition, setup_.shape);
      if (fresh.digests.at("inputs") == setup_.digests.at("inputs")) break;
      const TrialAnswer baseline = judge_trial(fresh, precision::baseline(), nullptr);
      if (!opens(session, baseline)) continue;  // says nothing about 16 bit
      const precision::IslandScope scope(*best_);
      ++tried;
      healed += opens(session, judge_trial(fresh, precision_, &baseline.outputs)) ? 1 : 0;
    }
    Json json{{"tried", tried}, {"healed", healed}};
    if (tried == 0) json["absent"] = {{"tried", "the case's inputs do not depend on the seed"}};
    return json;
  }

  static bool opens(const Session& session, const TrialAnswer& answer) {
    return results::opens_gate(answer.judgement.verdict, session.rules.suspect_opens_gate);
  }

  CaseSetup& setup_;
  const precision::Precision& precision_;
  const cases::Outputs& baseline_;
  const WatchedRun baseline_run_;
  const std::chrono::steady_clock::time_point deadline_ =
      std::chrono::steady_clock::now() +
      std::chrono::milliseconds(static_cast<std::int64_t>(500 * setup_.session.rules.trial_limit_s));
  IslandAnswer answer_;
  Regions all_;
  std::optional<Regions> best_;
  bool minimal_ = false;
  std::map<Regions, bool> tried_;
  std::string last_failure_;
  int runs_ = 0;
};

}  // namespace

IslandAnswer find_islands(CaseSetup& setup, const precision::Precision& precision,
                          const cases::Outputs& baseline, const Judgement& failed) {
  return Search(setup, precision, baseline).find(failed);
}

}  // namespace ampgate::validate
