#include "results/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "results/changes.h"
#include "results/compared_times.h"
#include "results/fairness.h"
#include "synthetic.h"

namespace ampgate::results {
namespace {

Json rows_of(const std::vector<Sample>& samples) {
  Json rows = Json::array();
  for (const Sample& sample : samples) {
    rows.push_back({sample.process, sample.block, 0, 10, 10 * sample.time_ns});
  }
  return rows;
}

Json trial(const std::string& precision, const std::vector<Sample>& samples) {
  return {{"id", "exp/8/" + precision},
          {"case", "exp"},
          {"shape", {{"name", "8"}, {"dims", {{"n", 8}}}}},
          {"precision", precision},
          {"verdict", "pass"},
          {"reason", ""},
          {"evidence",
           {{"seed", 1}, {"inputs", {{"x", "abc"}}}, {"settings", {{"threads", "1"}, {"affinity", "0"}}}}},
          {"measurement", {{"verdict", "measured"}, {"reason", ""}, {"samples", rows_of(samples)}}}};
}

Json record(const std::string& id, std::vector<Json> trials) {
  return {{"id", id},
          {"digest", id},
          {"run", {{"ampgate", "0.1.0"}}},
          {"device", {{"name", "cpu"}, {"model", "a processor"}}},
          {"environment", {{"libtorch", {{"version", "2.11.0"}}}}},
          {"plan", {{"suite", "smoke"}, {"seed", 1}, {"settings", {{"threads", 1}}}}},
          {"rules", {{"measurement", {{"tolerance", 0.01}}}}},
          {"rules_sha256", "r"},
          {"trials", std::move(trials)}};
}

// Eight processes of this median whose spread is a thousandth.
std::vector<Sample> quiet(double centre_ns, std::uint64_t seed) {
  return Synthetic(seed).run({.processes = 8, .between = 1, .within = 0.001, .centre_ns = centre_ns});
}

Json compared(double a_ns, double b_ns) {
  return compare_records(record("A", {trial("fp32", quiet(a_ns, 1))}),
                         record("B", {trial("fp32", quiet(b_ns, 2))}))
      .at("trials")
      .at(0)
      .at("time");
}

TEST(Comparison, FourVerdictsOfTimes) {
  EXPECT_EQ(compared(1000, 1000).at("verdict"), "same");
  EXPECT_EQ(compared(1000, 1030).at("verdict"), "slower");
  EXPECT_EQ(compared(1000, 970).at("verdict"), "faster");
  EXPECT_EQ(compared(1000, 1010).at("verdict"), "ambiguous");  // the tolerance itself
  EXPECT_NEAR(compared(1000, 1030).at("ratio").get<double>(), 1.03, 2e-3);
}

TEST(Comparison, WhatHasNoSamplesThatCountHasNoTime) {
  for (const char* rows : {"[]", R"([[0, 0, 0, 1, 5.0, {"left_out": true}]])"}) {
    Json empty = trial("fp32", {});
    empty["measurement"]["samples"] = Json::parse(rows);
    const Json result =
        compare_records(record("A", {empty}), record("B", {trial("fp32", quiet(1000, 1))})).at("trials").at(0);
    EXPECT_FALSE(result.contains("time"));
    EXPECT_EQ(result.at("absent").at("time"), "A has no samples that count");
  }
}

TEST(Comparison, TheToleranceIsTheSameFromBothSides) {
  Estimate ratio;
  ratio.interval = Interval{1.0101, 1.02};
  EXPECT_EQ(time_verdict(ratio, 0.01), "slower");
  ratio.interval = Interval{1 / 1.02, 1 / 1.0101};
  EXPECT_EQ(time_verdict(ratio, 0.01), "faster");
  ratio.interval = Interval{1 / 1.0099, 1.0099};
  EXPECT_EQ(time_verdict(ratio, 0.01), "same");
  ratio.interval = Interval{1.0099, 1.02};
  EXPECT_EQ(time_verdict(ratio, 0.01), "ambiguous");
  ratio.interval.reset();
  EXPECT_EQ(time_verdict(ratio, 0.01), "ambiguous");
}

TEST(Comparison, WordsSayTheDirection) {
  Estimate ratio;
  ratio.value = 1.031;
  ratio.interval = Interval{1.02, 1.042};
  EXPECT_EQ(time_words(ratio), "B takes 3.1 % longer than A (from 2.0 % longer to 4.2 % longer)");
  ratio.value = 0.89;
  ratio.interval = Interval{0.8, 1.01};
  EXPECT_EQ(time_words(ratio), "B takes 11 % less time than A (from 20 % less to 1.0 % longer)");
  ratio.value = 2.5;
  ratio.interval = Interval{2.4, 2.6};
  EXPECT_EQ(time_words(ratio),
            "B takes 2.5 times as long as A (from 2.4 times as long to 2.6 times as long)");
}

TEST(Comparison, OneProcessDecidesNothing) {
  const auto one = Synthetic(1).run({.processes = 1, .blocks = 20, .within = 0.001});
  const Json result =
      compare_records(record("A", {trial("fp32", one)}), record("B", {trial("fp32", quiet(2000, 2))}));
  const Json& time = result.at("trials").at(0).at("time");
  EXPECT_EQ(time.at("verdict"), "ambiguous");
  EXPECT_NE(time.at("absent").at("interval").get<std::string>().find("one process only"), std::string::npos);
  EXPECT_EQ(result.at("summary").at("ambiguous"), 1);
}

TEST(Comparison, ManyTrialsShareTheChanceOfAFalseAlarm) {
  std::vector<Json> in_a, in_b;
  for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
    in_a.push_back(trial(precision, quiet(1000, in_a.size())));
    in_b.push_back(trial(precision, quiet(1000, 7 + in_a.size())));
  }
  const Json result = compare_records(record("A", in_a), record("B", in_b));
  for (const auto& found : result.at("trials")) {
    EXPECT_NEAR(found.at("time").at("level").get<double>(), 1 - 2 * kFalseSlower / 3, 1e-12);
  }
  EXPECT_EQ(result.at("summary").at("same"), 3);
}

// A and B alike: what is called slower is at most as rare as promised, and as rare as Student's t can have it
// where the noise is far above the tolerance. A slow-down of 3 % is found where processes differ by 0.5 %.
TEST(Comparison, FalseAlarmsAndWhatIsFound) {
  constexpr int kRuns = 4000;
  Synthetic synthetic(11);
  const auto slower = [&](double spread, double ratio) {
    Design a{.processes = 8, .blocks = 5, .between = 2, .within = spread / 2};
    Design b = a;
    b.centre_ns *= ratio;
    int count = 0;
    for (int i = 0; i < kRuns; ++i) {
      const Estimate found =
          unpaired_ratio(synthetic.run(b), synthetic.run(a), simultaneous_level(kFalseSlower, 1));
      count += time_verdict(found, 0.01) == "slower" ? 1 : 0;
    }
    return static_cast<double>(count) / kRuns;
  };
  const double allowed = kFalseSlower + 3 * std::sqrt(kFalseSlower / kRuns);
  EXPECT_LE(slower(0.2, 1), allowed);
  EXPECT_LE(slower(0.01, 1), allowed);
  EXPECT_GE(slower(0.005, 1.03), 0.99);
}

TEST(Comparison, WhatDecidesTheAnswerMustBeEqual) {
  const Json a = record("A", {trial("fp32", quiet(1000, 1))});
  const auto refusal = [&](const Json::json_pointer& field, const Json& value) {
    Json b = record("B", {trial("fp32", quiet(1000, 2))});
    b[field] = value;
    const Json result = compare_records(a, b);
    EXPECT_EQ(result.at("summary").at("refused"), 1) << field;
    EXPECT_FALSE(result.at("trials").at(0).contains("time"));
    return result.at("trials").at(0).value("refused", Json::object());
  };
  using Pointer = Json::json_pointer;
  const Json seed = refusal(Pointer("/plan/seed"), 2);
  EXPECT_EQ(seed.at("field"), "/plan/seed");
  EXPECT_EQ(seed.at("in_words"), "/plan/seed: 1 in A, 2 in B");
  refusal(Pointer("/plan/suite"), "standard");
  refusal(Pointer("/rules_sha256"), "s");
  refusal(Pointer("/plan/settings/threads"), 2);
  refusal(Pointer("/environment/governor"), "powersave");
  refusal(Pointer("/trials/0/shape/dims/n"), 9);
  refusal(Pointer("/trials/0/evidence/inputs/x"), "abd");
  const Json pinned = refusal(Pointer("/trials/0/evidence/settings/affinity"), "0,1");
  EXPECT_EQ(pinned.at("in_words"), R"(/evidence/settings/affinity: "0" in A, "0,1" in B)");
  EXPECT_EQ(refusal(Pointer("/trials/0/evidence/settings/new"), "on").at("field"), "/evidence/settings/new");
}

TEST(Comparison, WhatIsComparedMayDiffer) {
  Json b = record("B", {trial("fp32", quiet(1000, 2))});
  b["device"]["model"] = "another";
  b["environment"]["libtorch"]["version"] = "2.12.0";
  const Json result = compare_records(record("A", {trial("fp32", quiet(1000, 1))}), b);
  EXPECT_EQ(result.at("summary").at("same"), 1);
  ASSERT_EQ(result.at("differences").size(), 2u);
  EXPECT_EQ(result["differences"][0].at("in_words"), R"(/device/model: "a processor" in A, "another" in B)");
}

TEST(Comparison, TrialsOfOneRecordOnlyAreNamed) {
  const Json result =
      compare_records(record("A", {trial("fp32", quiet(1, 1)), trial("cast-fp16", quiet(1, 1))}),
                      record("B", {trial("fp32", quiet(1, 1)), trial("tf32", quiet(1, 1))}));
  EXPECT_EQ(result.at("only_in_a"), Json::array({"exp/8/cast-fp16"}));
  EXPECT_EQ(result.at("only_in_b"), Json::array({"exp/8/tf32"}));
  EXPECT_EQ(result.at("summary").at("trials"), 1);
}

TEST(Comparison, AVerdictThatGotWorse) {
  const Json a = record("A", {trial("fp32", quiet(1000, 1))});
  Json b = record("B", {trial("fp32", quiet(1000, 2))});
  b["trials"][0]["verdict"] = "suspect";
  EXPECT_EQ(compare_records(a, b).at("summary").at("worse"), 1);
  EXPECT_EQ(compare_records(b, a).at("summary").at("better"), 1);
  b["trials"][0]["verdict"] = "crashed";
  b["trials"][0].erase("evidence");
  b["trials"][0].erase("measurement");
  const Json crashed = compare_records(a, b);
  EXPECT_EQ(crashed.at("trials").at(0).at("verdict"),
            (Json{{"a", "pass"}, {"b", "crashed"}, {"change", "worse"}}));
  EXPECT_EQ(crashed.at("trials").at(0).at("absent").at("time"), "B did not measure it");
}

TEST(Comparison, AMeasurementThatGotWorse) {
  const Json a = record("A", {trial("fp32", quiet(1000, 1))});
  Json b = record("B", {trial("fp32", quiet(1000, 2))});
  b["trials"][0]["measurement"] = {{"verdict", "output-changed"}, {"reason", "y"}};
  const Json result = compare_records(a, b);
  EXPECT_EQ(result.at("summary").at("worse"), 1);
  EXPECT_EQ(result.at("trials").at(0).at("absent").at("time"), "B's measurement is output-changed");
}

TEST(Comparison, EveryModeIsCompared) {
  Json a = record("A", {trial("fp32", quiet(1000, 1))}), b = record("B", {trial("fp32", quiet(1000, 2))});
  Json& of_a = a["trials"][0]["variants"];
  Json& of_b = b["trials"][0]["variants"];
  of_a["cold"] = of_a["latency"] = a["trials"][0]["measurement"];
  of_b["cold"] = trial("fp32", quiet(1100, 3))["measurement"];
  const Json result = compare_records(a, b);
  const Json& found = result.at("trials").at(0);
  EXPECT_EQ(found.at("time").at("verdict"), "same");
  EXPECT_EQ(found.at("variants").at("cold").at("time").at("verdict"), "slower");
  EXPECT_NEAR(found.at("time").at("level").get<double>(), 1 - 2 * kFalseSlower / 2, 1e-12);
  EXPECT_EQ(found.at("variants").at("latency").at("absent").at("time"), "B did not measure it");
  EXPECT_EQ(result.at("summary").at("slower"), 1);
  EXPECT_EQ(result.at("summary").at("measured_by_one"), 0);
}

TEST(Comparison, SamplesThatWereLeftOutStayOut) {
  Json a = record("A", {trial("fp32", quiet(1000, 1))}), b = record("B", {trial("fp32", quiet(1000, 2))});
  for (int block = 0; block < 5; ++block) {
    b["trials"][0]["measurement"]["samples"].push_back(
        {0, 100 + block, 0, 1, 9e9, {{"disturbed", "steal time"}, {"left_out", true}}});
  }
  EXPECT_EQ(compare_records(a, b).at("trials").at(0).at("time").at("verdict"), "same");
}

TEST(Comparison, ABusyMachineIsNoSlowerCode) {
  const Json a = record("A", {trial("fp32", quiet(1000, 1))});
  Json b = record("B", {trial("fp32", quiet(1000, 2))});
  Json& rows = b["trials"][0]["measurement"]["samples"];
  for (std::size_t i = 0; i < rows.size() / 2; ++i) {
    rows[i][4] = rows[i][4].get<double>() * 1.8;
    rows[i].push_back({{"disturbed", "another process kept a CPU"}, {"left_out", true}});
  }
  EXPECT_EQ(compare_records(a, b).at("trials").at(0).at("time").at("verdict"), "same");
  // What the record itself could not leave out, without which it decides nothing.
  rows.back().push_back({{"disturbed", "another process kept a CPU"}});
  const Json time = compare_records(a, b).at("trials").at(0).at("time");
  EXPECT_EQ(time.at("verdict"), "ambiguous");
  EXPECT_EQ(time.at("method"),
            "no interval: of B, 1 of 28 cells were disturbed (another process kept a CPU)");
}

// Two records of twelve processes each on a machine whose speed wanders by ten times what is to be seen.
std::pair<Json, Json> on_a_wandering_machine(double ratio) {
  std::vector<Sample> of_a, of_b;
  Json processes = Json::array();
  for (int process = 0; process < 12; ++process) {
    const double speed = 1000 * (1 + 0.02 * process * (process % 3));
    for (int block = 0; block < 3; ++block) {
      const double noise = 0.001 * ((process + block) % 3 - 1);
      of_a.push_back({process, block, speed});
      of_b.push_back({process, block, speed * ratio * (1 + noise)});
    }
    processes.push_back(
        {{"process", process}, {"mode", "warm"}, {"turn", {{"series", "s"}, {"number", process + 2}}}});
  }
  Json a = record("A", {trial("fp32", of_a)}), b = record("B", {trial("fp32", of_b)});
  a["bench"]["processes"] = b["bench"]["processes"] = processes;
  return {a, b};
}

TEST(Comparison, TurnsCancelTheMachine) {
  const auto time = [](const Json& a, const Json& b) {
    return compare_records(a, b).at("trials").at(0).at("time");
  };
  auto [a, b] = on_a_wandering_machine(1.03);
  EXPECT_EQ(time(a, b).at("verdict"), "slower");
  EXPECT_EQ(time(a, b).at("in_turns"), true);
  EXPECT_EQ(time(b, a).at("verdict"), "faster");
  EXPECT_NEAR(time(a, b).at("ratio").get<double>() * time(b, a).at("ratio").get<double>(), 1, 1e-12);
  const auto [same_a, same_b] = on_a_wandering_machine(1);
  EXPECT_EQ(time(same_a, same_b).at("verdict"), "same");

  // Turns of other runs pair nothing, and neither do those in which the other had no process.
  b["bench"]["processes"][0]["turn"]["number"] = 99;
  EXPECT_EQ(time(a, b).at("processes"), 22);
  for (auto& process : b["bench"]["processes"]) process["turn"]["series"] = "t";
  EXPECT_EQ(time(a, b).at("verdict"), "ambiguous");
  EXPECT_EQ(time(a, b).at("in_turns"), false);
}

TEST(Changes, ErrorsOperatorsMemory) {
  Json a = trial("fp32", {}), b = trial("fp32", {});
  EXPECT_TRUE(changes(a, b).empty());
  a["accuracy"]["kernel_error"] = {{"margin", 0.5}, {"position", {1, 2}}};
  b["accuracy"]["kernel_error"] = {{"margin", 0.7}, {"position", {3, 4}}};
  a["operators"] = {{{"name", "aten::mm"}, {"inputs", {"float32"}}}};
  b["operators"] = {{{"name", "aten::mm"}, {"inputs", {"float16"}}}};
  a["measurement"]["memory"] = {{"peak_bytes", 1024}, {"allocations", 1}};
  b["measurement"]["memory"] = {{"peak_bytes", 2048}, {"allocations", 1}};
  const Json found = changes(a, b);
  EXPECT_EQ(found.at("accuracy"),
            (Json::array({{{"field", "/kernel_error/margin"}, {"a", 0.5}, {"b", 0.7}}})));
  EXPECT_EQ(found.at("memory"), (Json::array({{{"field", "/peak_bytes"}, {"a", 1024}, {"b", 2048}}})));
  EXPECT_EQ(found.at("operators").at("only_in_a"), a["operators"]);
  EXPECT_EQ(found.at("operators").at("only_in_b"), b["operators"]);
}

TEST(Changes, RegressionAndTraining) {
  Json a = trial("fp32", {}), b = trial("fp32", {});
  a["decisions"]["regression"] = {{"rows", 10}, {"against_targets", {{"trial", {{"rmse", 1.5}}}}}};
  b["decisions"]["regression"] = {{"rows", 10}, {"against_targets", {{"trial", {{"rmse", 1.6}}}}}};
  a["training"] = {
      {"applied", 99}, {"quality", {{"mean_loss", 0.25}, {"trial", {1, 2}}}}, {"steps", {{"loss", {1}}}}};
  b["training"] = {
      {"applied", 97}, {"quality", {{"mean_loss", 0.25}, {"trial", {2, 1}}}}, {"steps", {{"loss", {2}}}}};
  const Json found = changes(a, b);
  EXPECT_EQ(found.at("regression"),
            (Json::array({{{"field", "/against_targets/trial/rmse"}, {"a", 1.5}, {"b", 1.6}}})));
  EXPECT_EQ(found.at("training"), (Json::array({{{"field", "/applied"}, {"a", 99}, {"b", 97}}})));
}

TEST(Changes, OfTheShareOfTimedStepsThatAppliedTheirUpdate) {
  Json a = trial("fp32", {}), b = trial("fp32", {});
  const auto timed = [](int iterations, int applied) {
    return Json{{"training", {{"iterations", iterations}, {"applied_updates", applied}}}};
  };
  a["measurement"] = timed(200, 200);
  b["measurement"] = timed(100, 100);
  EXPECT_FALSE(changes(a, b).contains("training")) << "how many steps were timed is chance";
  b["measurement"] = timed(100, 75);
  EXPECT_EQ(changes(a, b).at("training"),
            (Json::array({{{"field", "/measurement/training/applied_share"}, {"a", 1.0}, {"b", 0.75}}})));
}

TEST(Changes, DecisionsRowByRow) {
  const auto row = [](int id, int before, int now) {
    return Json{{"input", "ordinary"}, {"id", id}, {"baseline_decision", before}, {"trial_decision", now}};
  };
  Json a = trial("cast-fp16", {}), b = a;
  a["decisions"] = {{"flips", 1}, {"table", {row(3, 0, 1)}}};
  b["decisions"] = {{"flips", 2}, {"table", {row(3, 0, 1), row(9, 4, 5)}}};
  const Json found = changes(a, b);
  EXPECT_EQ(found.at("decisions"), (Json::array({{{"field", "/flips"}, {"a", 1}, {"b", 2}}})));
  // Row 9 is not in A's table, so A decided as the baseline.
  EXPECT_EQ(found.at("changed_decisions"),
            (Json::array({{{"input", "ordinary"}, {"id", 9}, {"a", 4}, {"b", 5}}})));
  a["decisions"]["table_left_out"] = 7;
  EXPECT_FALSE(changes(a, b).contains("changed_decisions")) << "what was left out is unknown";
}

TEST(Differences, LeafByLeafFromBothSides) {
  const auto found =
      differences({{"a", 1}, {"b", {{"c/d", 2}, {"e", 3}}}}, {{"b", {{"c/d", 5}, {"e", 3}}}, {"f", 1}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].words(), "/a: 1 in A, nothing in B");
  EXPECT_EQ(found[1].field, "/b/c~1d");
  EXPECT_EQ(found[2].words(), "/f: nothing in A, 1 in B");
}

}  // namespace
}  // namespace ampgate::results
