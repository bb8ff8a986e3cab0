// Cases and outputs that are not what they should be: the verdict says whose fault it is, and where.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "cases/fills.h"
#include "session.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::DecisionKind;
using cases::Facts;
using cases::Outputs;
using cases::Shape;
using cases::State;
using results::Json;

bool is_oracle(const State& state) { return state[0].scalar_type() == at::kDouble; }

Json judge(const cases::Case& definition, std::string_view precision,
           const std::vector<std::int64_t>& sizes = {32, 24, 64}, const results::Rules& rules = {},
           std::uint64_t seed = 1) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.seed = seed;
  cpu.session.rules = rules;
  CaseRun run(cpu.session, definition, definition.shape(sizes), false);
  return run.judge(precision::find(precision));
}

void expect(const Json& body, const char* verdict, const std::vector<std::string>& words) {
  EXPECT_EQ(body.at("verdict"), verdict) << body.at("reason");
  for (const auto& word : words)
    EXPECT_NE(body.at("reason").get<std::string>().find(word), std::string::npos) << body.at("reason");
}

// A fault of the operator in FP32 and below; the oracle is right.
Json faulty(Outputs (*run)(State&), std::string_view precision = "cast-fp16") {
  return judge(matmul_case(run), precision);
}

Outputs right(State& state) { return {at::matmul(state[0], state[1])}; }

TEST(BadOutputs, AnotherNumberOfThem) {
  const auto none = [](State& state) -> Outputs { return is_oracle(state) ? right(state) : Outputs{}; };
  expect(faulty(none, "fp32"), "inaccurate", {"returned 0 outputs, the case names 1"});
  expect(faulty(none), "baseline-invalid", {"returned 0 outputs"});
  const auto two = [](State& state) -> Outputs {
    Outputs outputs = right(state);
    if (state[0].scalar_type() == at::kHalf) outputs.push_back(outputs[0]);
    return outputs;
  };
  expect(faulty(two), "inaccurate", {"returned 2 outputs"});
}

TEST(BadOutputs, UndefinedAndElsewhere) {
  expect(
      faulty([](State& state) -> Outputs { return is_oracle(state) ? right(state) : Outputs{at::Tensor()}; },
             "fp32"),
      "inaccurate", {"output out is undefined"});
  expect(faulty(
             [](State& state) -> Outputs {
               return is_oracle(state) ? right(state) : Outputs{right(state)[0].to("meta")};
             },
             "fp32"),
         "inaccurate", {"output out is on device meta, the trial runs on cpu"});
}

TEST(BadOutputs, AnotherShapeOrTypeInOnePrecision) {
  const auto shape = [](State& state) -> Outputs {
    at::Tensor out = right(state)[0];
    return {state[0].scalar_type() == at::kHalf ? out.narrow(0, 0, 8) : out};
  };
  expect(faulty(shape), "inaccurate", {"has sizes (8, 24) instead of (32, 24)"});
  EXPECT_EQ(faulty(shape, "cast-bf16").at("verdict"), "pass");
  const auto type = [](State& state) -> Outputs {
    at::Tensor out = right(state)[0];
    return {state[0].scalar_type() == at::kHalf ? out.to(at::kInt) : out};
  };
  expect(faulty(type), "inaccurate", {"has type Int instead of a floating type"});
}

TEST(BadCases, OracleThatIsNotFinite) {
  cases::Case definition = matmul_case([](State& state) -> Outputs {
    at::Tensor out = at::matmul(state[0], state[1]);
    out[3][5] = std::numeric_limits<double>::quiet_NaN();
    return {out};
  });
  definition.facts = [](const Shape&) -> Facts { return {}; };
  for (const char* precision : {"fp32", "cast-fp16"})
    expect(judge(definition, precision), "baseline-invalid",
           {"the case itself is at fault", "'out[3, 5]' is nan"});
}

TEST(BadCases, FactsThatDoNotFitTheTensors) {
  static Facts facts;
  const auto with = [](Facts other) {
    facts = std::move(other);
    cases::Case definition = matmul_case(right);
    definition.facts = [](const Shape&) -> Facts { return facts; };
    return judge(definition, "fp32");
  };
  const cases::BoundSpec product = matmul_case(right).facts(matmul_case(right).shape({32, 24, 64})).bound;
  expect(with({.bound = product, .independent = {{0, {{3, 0}}}}}), "baseline-invalid",
         {"the case itself is at fault", "dimension 0 of tensor 3, which is not there"});
  expect(with({.bound = product, .independent = {{7, {{0, 0}}}}}), "baseline-invalid",
         {"the case itself is at fault", "dimension 7 of the outputs"});
  expect(with({.bound = product, .independent = {{0, {{0, 1}}}}}), "baseline-invalid",
         {"the case itself is at fault"});
  expect(with({.bound = {.family = cases::Family::kInnerProduct, .length = 64}}), "baseline-invalid",
         {"the case itself is at fault", "its reduced axes are missing"});
  expect(with({.bound = {.family = cases::Family::kSoftmax, .dims = {1}}}), "baseline-invalid",
         {"the case itself is at fault", "needs a tensor 'x'"});
}

TEST(BadCases, AxisThatIsNotIndependent) {
  cases::Case definition = matmul_case([](State& state) -> Outputs {
    const at::Tensor product = at::matmul(state[0], state[1]);
    return {product - product.mean(0, true)};
  });
  definition.facts = [](const Shape&) -> Facts { return {.independent = {{0, {{0, 0}}}}}; };
  expect(judge(definition, "fp32"), "baseline-invalid",
         {"the case itself is at fault", "is not independent along dimension 0"});
}

TEST(BadCases, SetUpThatFails) {
  cases::Case definition = matmul_case(right);
  definition.setup = [](const Shape&, const cases::Fill&) -> State { throw std::runtime_error("no data"); };
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape({32, 24, 64}), /*with_edges=*/true);
  const Json body = run.judge(precision::find("fp32"));
  expect(body, "baseline-invalid", {"the case itself is at fault: its set-up failed: no data"});
  EXPECT_TRUE(body.at("findings").empty()) << body.at("findings");
}

TEST(BadCases, OracleOfAnotherTypeOrNumber) {
  expect(judge(matmul_case([](State& state) -> Outputs { return {right(state)[0].to(at::kFloat)}; }), "fp32"),
         "baseline-invalid", {"the case itself is at fault", "output out has type Float"});
  expect(judge(matmul_case([](State&) -> Outputs { return {}; }), "fp32"), "baseline-invalid",
         {"the case itself is at fault", "returns 0 outputs and names 1"});
}

// Scores from one linear layer without rounding to speak of, with integer and value outputs beside them.
cases::Case net(Facts (*facts)(const Shape&), Outputs (*run)(State&) = nullptr) {
  return {.name = "test-net",
          .dims = {"rows", "classes"},
          .suites = {},
          .outputs = {"scores", "best", "aux.0"},
          .setup = [](const Shape& shape, const cases::Fill& fill) -> State {
            const auto rows = shape["rows"];
            return {{{"x", fill.normal("x", {rows, 16})},
                     {"labels", fill.integers("labels", {rows}, 0, shape["classes"])},
                     {"targets", fill.normal("targets", {rows})},
                     {"w", fill.normal("w", {shape["classes"], 16}, 0.25), cases::Role::kWeight}}};
          },
          .run = run != nullptr ? run : [](State& state) -> Outputs {
            const at::Tensor scores = at::linear(state[0], state[3]);
            return {scores, scores.argmax(1), scores.sum(1)};
          },
          .facts = facts,
          .model = true};
}

Facts decided(cases::Decisions decisions) {
  return {.bound = {.family = cases::Family::kModel},
          .meaning = cases::Meaning::kScores,
          .decisions = std::move(decisions)};
}

TEST(BadCases, LabelsAndDecisionsThatDoNotFit) {
  const auto fault = [](Facts (*facts)(const Shape&), const std::vector<std::int64_t>& sizes,
                        const std::string& words) {
    expect(judge(net(facts), "fp32", sizes), "baseline-invalid", {"the case itself is at fault", words});
  };
  const auto labelled = [](const Shape&) { return decided({.labels = "labels"}); };
  fault(labelled, {8, 1}, "one class");
  fault([](const Shape&) { return decided({.labels = "label"}); }, {8, 4}, "no input 'label'");
  fault([](const Shape&) { return decided({.output = 7}); }, {8, 4}, "does not have");
  fault([](const Shape&) { return decided({.labels = "targets"}); }, {8, 4}, "type Float");
  fault(
      [](const Shape&) {
        return decided({.kind = DecisionKind::kThreshold, .thresholds = {1, 2}});
      },
      {8, 4}, "2 thresholds for 4 classes");
  cases::Case definition = net(labelled);
  definition.setup = [](const Shape& shape, const cases::Fill& fill) -> State {
    State state = net(nullptr).setup(shape, fill);
    state.tensors[1].tensor[5] = 4;
    return state;
  };
  expect(judge(definition, "cast-bf16", {8, 4}), "baseline-invalid",
         {"labels 'labels': number 5 is 4, which is none of 0 to 3"});
  definition.setup = [](const Shape& shape, const cases::Fill& fill) -> State {
    State state = net(nullptr).setup(shape, fill);
    for (const std::size_t i : {0, 1, 2}) state.tensors[i].tensor = state.tensors[i].tensor.narrow(0, 0, 0);
    return state;
  };
  expect(judge(definition, "fp32", {8, 4}), "baseline-invalid", {"the batch is empty"});
}

std::vector<std::string> findings(const Json& body) {
  std::vector<std::string> verdicts;
  for (const auto& finding : body.at("findings")) verdicts.push_back(finding.at("verdict"));
  return verdicts;
}

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

TEST(Data, OfOneClassWithoutABoundaryIsJudgedAllTheSame) {
  cases::Case definition = net([](const Shape&) { return decided({.labels = "labels"}); });
  definition.setup = [](const Shape& shape, const cases::Fill& fill) -> State {
    State state = net(nullptr).setup(shape, fill);
    state.tensors[1].tensor.fill_(2);
    state.tensors[0].tensor.abs_();
    state.tensors[3].tensor.fill_(-1.0)[2].fill_(1.0);
    return state;
  };
  for (const char* precision : {"fp32", "cast-bf16"}) {
    const Json body = judge(definition, precision, {16, 4});
    EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
    EXPECT_TRUE(has(findings(body), "one-class"));
    EXPECT_TRUE(has(findings(body), "no-boundary"));
    EXPECT_EQ(body.at("decisions").at("boundary").dump(),
              R"({"absent":{"rungs":"no boundary found: all rows decide alike"}})");
    EXPECT_EQ(body.at("decisions").at("accuracy").at("rows"), 16);
  }
}

// Scores, integers and values in one model, each by its own criterion.
TEST(Outputs, OfSeveralMeanings) {
  const auto facts = [](const Shape&) {
    Facts result = decided({.labels = "labels"});
    result.targets = "targets";
    result.target_output = 2;
    return result;
  };
  results::Rules rules;
  rules.maximum_accuracy_loss = 1.0;
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
    const Json body = judge(net(facts), precision, {200, 5}, rules);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
    EXPECT_EQ(body.at("decisions").at("output"), "scores");
    EXPECT_EQ(body.at("decisions").at("regression").at("rows"), 200);
    EXPECT_EQ(body.at("decisions").at("boundary").at("rungs").size(), 6U);
    EXPECT_EQ(body.at("evidence").at("outputs").size(), 3U);
    EXPECT_EQ(body.at("evidence").at("checks").size(), 3U);
  }
}

// Rounding changes some of 400 integers in nearly every run: no false alarm, and no integer unseen.
TEST(Outputs, IntegersThatRoundingChangesAreFindings) {
  const auto facts = [](const Shape&) -> Facts { return {.bound = {.family = cases::Family::kModel}}; };
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    for (const char* precision : {"autocast-fp16", "cast-fp16", "autocast-bf16", "cast-bf16"}) {
      const Json body = judge(net(facts), precision, {400, 5}, {}, seed);
      EXPECT_EQ(body.at("verdict"), "pass") << precision << ", seed " << seed << ": " << body.at("reason");
      changed += has(findings(body), "integers-changed") ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 10);
}

TEST(Outputs, AWrongIntegerIsCounted) {
  const auto facts = [](const Shape&) { return decided({}); };
  const auto wrong = [](State& state) -> Outputs {
    const at::Tensor scores = at::linear(state[0], state[3]);
    // The same operators everywhere: the replay follows them.
    const at::Tensor best = scores.argmax(1).add(scores.scalar_type() == at::kHalf ? 1 : 5).remainder(5);
    return {scores, best, scores.sum(1)};
  };
  expect(judge(net(facts, wrong), "cast-fp16", {200, 5}), "inaccurate",
         {"best[0] is", "of 200 integers differ"});
  EXPECT_EQ(judge(net(facts, wrong), "cast-bf16", {200, 5}).at("verdict"), "pass");
  const auto type = [](State& state) -> Outputs {
    const at::Tensor scores = at::linear(state[0], state[3]);
    const bool half = scores.scalar_type() == at::kHalf;
    return {scores, scores.argmax(1).to(half ? at::kInt : at::kLong), scores.sum(1)};
  };
  expect(judge(net(facts, type), "cast-fp16", {200, 5}), "inaccurate",
         {"output best has type Int instead of Long"});
}

// NaN in FP16 alone, past the operators, which the replay follows.
void break_first(at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kHalf)
    *tensor.mutable_data_ptr<at::Half>() = std::numeric_limits<float>::quiet_NaN();
}

TEST(Outputs, ANanScoreIsNoDecision) {
  const auto facts = [](const Shape&) { return decided({.labels = "labels"}); };
  const auto nan = [](State& state) -> Outputs {
    at::Tensor scores = at::linear(state[0], state[3]);
    const at::Tensor best = scores.argmax(1), sum = scores.sum(1);
    break_first(scores);
    return {scores, best, sum};
  };
  const Json body = judge(net(facts, nan), "cast-fp16", {20, 5});
  EXPECT_EQ(body.at("verdict"), "nonfinite") << body.at("reason");
  EXPECT_EQ(body.at("decisions").at("lost"), 1);
  EXPECT_EQ(body.at("decisions").at("table")[0].at("trial_decision"), "none");
}

using OutputRule = results::Rules::OutputRule;

OutputRule limit(std::optional<double> OutputRule::*criterion, double value) {
  OutputRule rule;
  rule.*criterion = value;
  return rule;
}

TEST(OutputRules, AreEnforced) {
  const auto facts = [](const Shape&) { return decided({}); };
  const auto with = [&](const std::string& output, const OutputRule& rule,
                        std::string_view precision = "cast-bf16") {
    results::Rules rules;
    rules.outputs[output] = rule;
    return judge(net(facts), precision, {64, 5}, rules);
  };
  expect(with("test-net/scores", limit(&OutputRule::max_abs_error, 1e-9)), "quality-lost",
         {"scores: largest difference", "above the 1e-09"});
  expect(with("test-net", limit(&OutputRule::max_relative_rms, 1e-9)), "quality-lost", {"relative RMS"});
  expect(with("test-net/aux.0", limit(&OutputRule::max_margin, 1e-3), "fp32"), "inaccurate",
         {"aux.0: margin", "max_margin of 0.001"});
  EXPECT_EQ(with("test-net/scores", limit(&OutputRule::max_abs_error, 1.0)).at("verdict"), "pass");
  EXPECT_EQ(with("other", limit(&OutputRule::max_abs_error, 1e-9)).at("verdict"), "pass");
  // Its max_margin is of the trial that it belongs to: FP32 has no precision cost.
  EXPECT_EQ(with("test-net/scores", limit(&OutputRule::max_abs_error, 1e-9), "fp32").at("verdict"), "pass");
}

TEST(OutputRules, AMarginAboveOneIsSuspectNotAPass) {
  const auto off = [](State& state) -> Outputs {
    at::Tensor out = right(state)[0];
    const bool integers = at::equal(state[0], state[0].round());  // there no error at all is allowed
    return {state[0].scalar_type() == at::kBFloat16 && !integers ? out * 1.02 : out};
  };
  results::Rules rules;
  const Json before = judge(matmul_case(off), "cast-bf16");
  EXPECT_EQ(before.at("verdict"), "inaccurate");
  const double margin = before.at("accuracy").at("kernel_error").at("margin");
  rules.outputs["test-matmul/out"].max_margin = margin * 1.01;
  expect(judge(matmul_case(off), "cast-bf16", {32, 24, 64}, rules), "suspect", {"max_margin"});
  rules.outputs["test-matmul/out"].max_margin = margin * 0.99;
  EXPECT_EQ(judge(matmul_case(off), "cast-bf16", {32, 24, 64}, rules).at("verdict"), "inaccurate");
  // What would let wrong results pass is found as everywhere.
  rules.outputs["test-matmul/out"].max_margin = 1e12;
  EXPECT_EQ(judge(matmul_case(off), "fp32", {32, 24, 64}, rules).at("verdict"), "vacuous");
}

TEST(OutputRules, WhatIsIgnoredIsNamed) {
  const auto facts = [](const Shape&) { return decided({}); };
  const auto scratch = [](State& state) -> Outputs {
    const at::Tensor scores = at::linear(state[0], state[3]);
    at::Tensor sum = scores.sum(1);
    break_first(sum);
    return {scores, scores.argmax(1), sum};
  };
  EXPECT_EQ(judge(net(facts, scratch), "cast-fp16", {64, 5}).at("verdict"), "nonfinite");
  results::Rules rules;
  rules.outputs["test-net/aux.0"].ignore = "scratch space";
  const Json body = judge(net(facts, scratch), "cast-fp16", {64, 5}, rules);
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_TRUE(has(findings(body), "ignored"));
  EXPECT_EQ(body.at("evidence").at("unchecked").at("aux.0"), "scratch space");
  EXPECT_EQ(body.at("evidence").at("checks").size(), 2U);
}

}  // namespace
}  // namespace ampgate::validate
