// Large outputs are judged on a grid along their independent axes: what is in the grid, that it is judged as
// the whole would be, and that a fault outside the seeded grid is found by its strangeness.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cases/execute.h"
#include "cases/fills.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/sample.h"
#include "validate/strange.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using results::Json;

constexpr std::int64_t kRows = 1500;
constexpr std::int64_t kColumns = 1400;

bool contains(const Positions& positions, std::int64_t position) {
  return std::binary_search(positions.begin(), positions.end(), position);
}

TEST(Sample, PositionsHoldTheEndsAndTheEdgesOfTiles) {
  const Positions positions = tile_aware_positions(2560, 300, 7);
  EXPECT_EQ(positions.size(), 300U);
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  EXPECT_EQ(std::set(positions.begin(), positions.end()).size(), 300U);
  EXPECT_EQ(positions.front(), 0);
  EXPECT_EQ(positions.back(), 2559);
  for (const std::int64_t edge : {128, 1280, 2432}) {
    for (const std::int64_t near : {edge - 1, edge, edge + 1}) EXPECT_TRUE(contains(positions, near)) << near;
  }
  EXPECT_EQ(tile_aware_positions(2560, 300, 7), positions);
  EXPECT_NE(tile_aware_positions(2560, 300, 8), positions);
  EXPECT_EQ(tile_aware_positions(3, 300, 7), (Positions{0, 1, 2}));
}

TEST(Sample, SmallOutputsAreWholeAndLargeOnesAreNot) {
  const auto facts = [](const char* name, const std::vector<std::int64_t>& sizes) {
    const auto& definition = cases::registry().at(name);
    return definition.facts(definition.shape(sizes));
  };
  EXPECT_TRUE(choose_sample(facts("matmul", {512, 512, 512}), {512, 512}, 1).whole());
  EXPECT_TRUE(choose_sample(facts("softmax", {512, 512}), {512, 512}, 1).whole());
  const Sample matmul = choose_sample(facts("matmul", {2560, 2560, 256}), {2560, 2560}, 1);
  ASSERT_EQ(matmul.axes().size(), 2U);
  for (const auto& axis : matmul.axes()) {
    EXPECT_LT(axis.positions.size(), 900U);
    EXPECT_GT(axis.positions.size(), 400U);
  }
  // A long reduction costs more an element.
  const Sample deep = choose_sample(facts("matmul", {512, 512, 32768}), {512, 512}, 1);
  EXPECT_LT(deep.axes().front().positions.size(), 80U);
  EXPECT_TRUE(choose_sample(facts("cross_entropy", {8192, 50257}), {}, 1).whole());
}

TEST(Sample, SelectsInputsThatGiveTheSelectedOutputs) {
  const auto& definition = cases::registry().at("conv2d");
  const cases::Shape shape = definition.shape({4, 3, 40, 9, 9, 3});
  const cases::Facts facts = definition.facts(shape);
  const State original = definition.setup(shape, cases::Fill(1, "conv2d", shape.name));
  EXPECT_EQ(output_sizes(definition, facts, original),
            (std::vector<std::vector<std::int64_t>>{{4, 40, 9, 9}}));
  const Sample sample = Sample({{facts.independent[0], {0, 3}, 4}, {facts.independent[1], {0, 5, 39}, 40}})
                            .with({{1, 7, 2, 2}});
  State whole = cases::converted(original, at::kDouble);
  State part = sample.select(whole);
  const at::Tensor expected = definition.run(whole)[0].index({at::tensor({0, 1, 3})});
  const at::Tensor selected = expected.index_select(1, at::tensor({0, 5, 7, 39}));
  EXPECT_TRUE(at::allclose(definition.run(part)[0], selected, 1e-12, 1e-12));
  EXPECT_TRUE(at::equal(sample.select(definition.run(whole)[0]), selected));
  EXPECT_EQ(sample.whole_position({1, 2, 4, 5}), (Positions{1, 7, 4, 5}));
  EXPECT_EQ(sample.misfit(at::zeros({4, 41, 9, 9})), "its dimension 1 has size 41 instead of 40");
  EXPECT_EQ(sample.misfit(at::zeros({4, 40, 9, 9})), "");
  EXPECT_TRUE(Sample().with({{1, 2}}).whole());
}

TEST(Sample, StrangeElementsAreFoundInOnePass) {
  at::Tensor baseline = at::randn({300, 700});
  at::Tensor output = baseline.to(at::kHalf);
  output[7][699] = std::numeric_limits<float>::quiet_NaN();
  output[250][3] += 3.0;
  const auto found = strange_elements(output, &baseline, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], (Positions{7, 699}));
  EXPECT_EQ(found[1], (Positions{250, 3}));
  output[7][699] = 1000.0;
  EXPECT_EQ(strange_elements(output, nullptr, 1)[0], (Positions{7, 699}));
  EXPECT_TRUE(strange_elements(at::zeros({0, 4}), nullptr, 3).empty());
}

Json judge(const cases::Case& definition, const char* precision) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape({kRows, kColumns, 8}), false);
  return run.judge(precision::find(precision));
}

Outputs right(State& state) { return {at::matmul(state[0], state[1])}; }

TEST(Sample, TrialSaysWhatWasJudgedAndChecksLieThere) {
  const Json body = judge(matmul_case(right), "cast-bf16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  const Json& error = body.at("accuracy").at("kernel_error");
  const Json& sample = error.at("sample");
  ASSERT_EQ(sample.size(), 2U);
  EXPECT_EQ(sample[0].at("size"), kRows);
  EXPECT_EQ(sample[1].at("size"), kColumns);
  EXPECT_EQ(error.at("elements"),
            sample[0].at("judged").get<std::int64_t>() * sample[1].at("judged").get<std::int64_t>());
  EXPECT_LT(error.at("elements"), kRows * kColumns / 2);
  // The limits hold for the output at these positions.
  const cases::Case definition = matmul_case(right);
  const cases::Shape shape = definition.shape({kRows, kColumns, 8});
  State state = cases::prepare(definition.setup(shape, cases::Fill(1, definition.name, shape.name)),
                               precision::find("cast-bf16"), at::kCPU);
  const at::Tensor output = right(state)[0].flatten().to(at::kDouble);
  const Json& check = body.at("evidence").at("checks").at(0);
  ASSERT_EQ(check.at("positions").size(), 4096U);
  for (std::size_t i = 0; i < 4096; ++i) {
    const double value = output[check.at("positions")[i].get<std::int64_t>()].item<double>();
    EXPECT_LE(check.at("low")[i].get<double>(), value);
    EXPECT_GE(check.at("high")[i].get<double>(), value);
  }
}

TEST(Sample, ExactOutputsHaveNoPlaceOfTheLargestError) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  const cases::Case& definition = cases::registry().at("relu");
  CaseRun run(cpu.session, definition, definition.shape({1 << 20}), false);
  const Json body = run.judge(precision::find("fp32"));
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  const Json& error = body.at("accuracy").at("kernel_error");
  ASSERT_TRUE(error.contains("sample"));
  EXPECT_EQ(error.at("max_abs_error"), 0.0);
  EXPECT_FALSE(error.contains("max_abs_error_position"));
}

// One element anywhere: also in a row that the seeded grid leaves out.
TEST(Sample, OneWrongElementIsFoundAnywhere) {
  for (const std::int64_t row : {0, 701, 1499}) {
    static std::int64_t wrong_row;
    wrong_row = row;
    const cases::Case definition = matmul_case([](State& state) -> Outputs {
      at::Tensor out = at::matmul(state[0], state[1]);
      if (state[0].scalar_type() == at::kBFloat16) out[wrong_row][709] += 16.0;
      return {out};
    });
    const Json body = judge(definition, "cast-bf16");
    EXPECT_EQ(body.at("verdict"), "inaccurate");
    EXPECT_EQ(body.at("accuracy").at("kernel_error").at("position"), (Positions{row, 709}));
  }
}

TEST(Sample, WrongSizesAreNamed) {
  const cases::Case definition = matmul_case([](State& state) -> Outputs {
    const at::Tensor out = at::matmul(state[0], state[1]);
    return {state[0].scalar_type() == at::kHalf && state[0].size(0) == kRows ? out.t() : out};
  });
  const Json body = judge(definition, "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  EXPECT_NE(body.at("reason").get<std::string>().find("(1400, 1500) instead of (1500, 1400)"),
            std::string::npos)
      << body.at("reason");
}

}  // namespace
}  // namespace ampgate::validate
