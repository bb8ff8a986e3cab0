// What is said of a shape before it is set up, against what it then takes.
#include "cases/needs.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

double bytes_of(const State& state) {
  double bytes = 0.0;
  for (const auto& entry : state.tensors) bytes += static_cast<double>(entry.tensor.nbytes());
  return bytes;
}

class NeedsOfEveryCase : public testing::TestWithParam<std::string> {};

TEST_P(NeedsOfEveryCase, AreWhatItTakes) {
  const at::NoGradGuard no_grad;
  const Case& definition = registry().find(GetParam())->second;
  const Shape shape = definition.shape(definition.suites.at(0).shapes.at(0));
  const State original = definition.setup(shape, Fill(1, definition.name, shape.name));
  for (const auto* name : {"fp32", "cast-fp16", "cast-bf16"}) {
    const auto& precision = precision::find(name);
    State state = prepare(original, precision, at::kCPU);
    const Outputs outputs = execute(definition, state, precision, at::kCPU);
    const Needs said = needs(definition, shape, precision);
    EXPECT_EQ(said.no_outputs, "") << name;
    EXPECT_EQ(said.tensor_bytes, bytes_of(state)) << name;
    EXPECT_EQ(said.output_bytes, written_bytes(outputs)) << name;
    EXPECT_EQ(said.moved_bytes, least_bytes(definition.facts(shape), state, outputs)) << name;
    EXPECT_EQ(said.flops, definition.facts(shape).flops) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, NeedsOfEveryCase, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, definition] : registry()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

// 4 TB a matrix: nothing of it is allocated.
TEST(Needs, OfWhatNoMachineHolds) {
  const Case& matmul = registry().find("matmul")->second;
  const Needs said = needs(matmul, matmul.shape({1000000, 1000000, 1000000}), precision::baseline());
  EXPECT_EQ(said.tensor_bytes, 8e12);
  EXPECT_EQ(said.output_bytes, 4e12);
  EXPECT_EQ(said.flops, 2e18);
}

}  // namespace
}  // namespace ampgate::cases
