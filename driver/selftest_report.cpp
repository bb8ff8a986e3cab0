#include "driver/selftest_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "results/statistics.h"

namespace ampgate::driver {
namespace {

using results::Json;

// Of all clean trials; more of them than that are no accident of a seed.
constexpr double kFalseAlarmLimit = 1e-3;
constexpr double kLevel = 0.95;
constexpr std::array<const char*, 3> kPeers{"torch_testing", "one_percent", "k_over_100"};

// Faults that were put in, and who caught them.
struct Count {
  std::int64_t faults = 0, caught = 0;
  std::array<std::int64_t, kPeers.size()> by_peer{};

  void add(const Json& fault) {
    ++faults;
    if (fault.at("outcome") == "caught") ++caught;
    for (std::size_t i = 0; i < kPeers.size(); ++i) by_peer[i] += fault.at("peers").at(kPeers[i]).get<bool>();
  }
  Json json() const {
    Json result{{"faults", faults}, {"caught", caught}};
    for (std::size_t i = 0; i < kPeers.size(); ++i) result[kPeers[i]] = by_peer[i];
    return result;
  }
};

struct Row {
  Count must, may;
};

bool was_put_in(const Json& fault) { return fault.at("outcome") != "not-put-in"; }

bool is_must(const Json& fault) { return fault.at("expectation") == "must-catch"; }

// "flip-mantissa-7" belongs to "flip-mantissa".
std::string group_of(std::string kind) {
  const auto digits = kind.find_last_not_of("0123456789");
  if (digits + 1 < kind.size() && kind[digits] == '-') kind.erase(digits);
  return kind;
}

template <typename Function>
void for_each_fault(const Json& record, Function&& function) {
  for (const auto& trial : record.at("trials")) {
    if (!trial.contains("faults")) continue;
    for (const auto& fault : trial.at("faults")) {
      if (was_put_in(fault)) function(trial, fault);
    }
  }
}

// A correct operator that the pipeline refuses is a false alarm too, seen before any fault was put in.
bool refused_without_fault(const Json& trial) {
  return !trial.contains("faults") && trial.at("verdict") != "unsupported";
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{}/{}", part, whole);
}

std::string line(const std::string& name, const Row& row) {
  Count all = row.must;
  all.faults += row.may.faults;
  for (std::size_t i = 0; i < kPeers.size(); ++i) all.by_peer[i] += row.may.by_peer[i];
  return fmt::format("{:<24} {:>10} {:>10} {:>8} {:>14} {:>8} {:>8}\n", name,
                     share(row.must.caught, row.must.faults), share(row.may.caught, row.may.faults),
                     percent(row.must.caught + row.may.caught, all.faults),
                     percent(all.by_peer[0], all.faults), percent(all.by_peer[1], all.faults),
                     percent(all.by_peer[2], all.faults));
}

}  // namespace

std::vector<Json> not_caught(const Json& trial) {
  std::vector<Json> missed;
  for (const auto& fault : trial.value("faults", Json::array())) {
    if (was_put_in(fault) && is_must(fault) && fault.at("outcome") != "caught") missed.push_back(fault);
    // A faulty kernel that throws says nothing, whatever was expected.
    if (!is_must(fault) && fault.at("outcome") == "broken") missed.push_back(fault);
  }
  return missed;
}

Json selftest_summary(const Json& record) {
  Row total;
  std::map<std::string, Count> by_input;
  for_each_fault(
      record, [&](const Json&, const Json& fault) { (is_must(fault) ? total.must : total.may).add(fault); });
  std::int64_t missed = 0, trials = 0, alarms = 0, suspects = 0;
  for (const auto& trial : record.at("trials")) {
    missed += static_cast<std::int64_t>(not_caught(trial).size());
    if (refused_without_fault(trial)) {
      ++trials;
      ++alarms;
    }
    const Json clean = trial.value("clean", Json::object());
    trials += clean.value("trials", std::int64_t{0});
    alarms += clean.value("false_alarms", std::int64_t{0});
    suspects += clean.value("suspects", std::int64_t{0});
  }
  Json summary{{"must_catch", total.must.json()},
               {"may_miss", total.may.json()},
               {"clean", {{"trials", trials}, {"false_alarms", alarms}, {"suspects", suspects}}}};
  if (trials > 0) summary["clean"]["rate_upper_limit"] = results::rate_upper_limit(alarms, trials, kLevel);
  summary["good"] = record.at("ended") == "" && missed == 0 && total.must.faults > 0 &&
                    static_cast<double>(alarms) <= kFalseAlarmLimit * static_cast<double>(trials);
  return summary;
}

std::string selftest_table(const Json& record) {
  std::map<std::string, Row> rows;
  std::vector<std::string> order;
  Row total;
  for_each_fault(record, [&](const Json&, const Json& fault) {
    const std::string group = group_of(fault.at("kind").get<std::string>());
    if (rows.count(group) == 0) order.push_back(group);
    (is_must(fault) ? rows[group].must : rows[group].may).add(fault);
    (is_must(fault) ? total.must : total.may).add(fault);
  });
  std::string text = fmt::format("{:<24} {:>10} {:>10} {:>8} {:>14} {:>8} {:>8}\n", "fault", "must-catch",
                                 "may-miss", "ampgate", "torch.testing", "1e-2", "K/100");
  for (const auto& group : order) text += line(group, rows[group]);
  return text + line("all", total);
}

std::string selftest_answer(const Json& record) {
  std::string text;
  for (const auto& trial : record.at("trials")) {
    if (refused_without_fault(trial)) {
      text += fmt::format("refused without a fault: {}: {}: {}\n", trial.at("id").get<std::string>(),
                          trial.at("verdict").get<std::string>(), trial.at("reason").get<std::string>());
    }
    for (const auto& fault : not_caught(trial)) {
      text += fmt::format("{}: {} in {} ({}), {} result\n", fault.at("outcome").get<std::string>(),
                          fault.at("kind").get<std::string>(), trial.at("id").get<std::string>(),
                          fault.at("operator").get<std::string>(), fault.at("type").get<std::string>());
    }
    for (const auto& example : trial.value("clean", Json::object()).value("examples", Json::array())) {
      text += fmt::format("false alarm: {} with seed {}: {}: {}\n", trial.at("id").get<std::string>(),
                          example.at("seed").get<std::int64_t>(), example.at("verdict").get<std::string>(),
                          example.at("reason").get<std::string>());
    }
  }
  const Json& summary = record.at("summary");
  const Json& must = summary.at("must_catch");
  const auto faults = must.at("faults").get<std::int64_t>();
  text += fmt::format(
      "{} of {} faults that must be caught were caught; torch.testing's defaults catch {}, 1e-2 {}, K/100 "
      "{}.\n",
      must.at("caught").get<std::int64_t>(), faults,
      percent(must.at("torch_testing").get<std::int64_t>(), faults),
      percent(must.at("one_percent").get<std::int64_t>(), faults),
      percent(must.at("k_over_100").get<std::int64_t>(), faults));
  const Json& clean = summary.at("clean");
  if (clean.contains("rate_upper_limit")) {
    text += fmt::format(
        "{} false alarms in {} trials without a fault: with 95 % confidence at most {:.2g} of all.\n",
        clean.at("false_alarms").get<std::int64_t>(), clean.at("trials").get<std::int64_t>(),
        clean.at("rate_upper_limit").get<double>());
  }
  if (record.at("ended") != "")
    text += "The worker did not finish: " + record.at("ended").get<std::string>() + "\n";
  const bool good = summary.at("good").get<bool>();
  if (record.contains("files")) {
    return text + (good ? "Your cases catch what they should catch.\n"
                        : "Your cases LET FAULTS PASS, or refuse what is right.\n");
  }
  return text + (good ? "The detector works.\n" : "The detector FAILS its self-test.\n");
}

}  // namespace ampgate::driver
