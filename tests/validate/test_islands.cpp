// FP32 islands: single operators raised under autocast, and the search for regions that heal a model.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/region.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/islands/operator_islands.h"
#include "validate/trace.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using precision::region;
using results::Json;

at::Tensor linear(const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); }
at::Tensor scaled_down(const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w) * 1e-4; }

// A chain of layers; weights of layer i are multiplied by gains[i].
cases::Case chain(Outputs (*run)(State&), std::vector<double> gains) {
  return {
      .name = "test-chain",
      .dims = {"batch"},
      .suites = {},
      .outputs = {"out"},
      .setup = [gains](const cases::Shape& shape, const cases::Fill& fill) -> State {
        State state{{{"x", fill.normal("x", {shape["batch"], 16})}}};
        for (std::size_t i = 0; i < gains.size(); ++i) {
          const std::string name = "w" + std::to_string(i);
          state.tensors.push_back({name, fill.normal(name, {16, 16}, 0.25) * gains[i], cases::Role::kWeight});
        }
        return state;
      },
      .run = run,
      .facts = [](const cases::Shape&) -> cases::Facts {
        return {.bound = {.family = cases::Family::kModel}, .meaning = cases::Meaning::kRegression};
      },
      .model = true,
      .shape_prefix = "batch",
  };
}

Json judge(const cases::Case& definition, std::string_view precision, const results::Rules& rules = {}) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.rules = rules;
  CaseRun run(cpu.session, definition, definition.shape({8}), false);
  return run.judge(precision::find(precision));
}

// Values of about 1e6 inside the region `wide` alone.
Outputs one_wide_region(State& state) {
  at::Tensor x = region("first", linear, state[0], state[1]);
  x = region(
      "wide", [](const at::Tensor& t, const at::Tensor& w) { return scaled_down(t, w); }, x, state[2]);
  return {region("last", linear, x, state[3])};
}

TEST(Islands, AreNotNeededWhereAutocastPasses) {
  const Json body = judge(chain(one_wide_region, {1, 1, 1}), "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "unsupported");
  EXPECT_EQ(body.at("islands").at("needed"), false);
  EXPECT_EQ(body.at("reason"), "autocast-fp16 is 'pass': no island is needed");
}

TEST(Islands, HealTheOneRegionThatOverflows) {
  const auto model = chain(one_wide_region, {1, 1e6, 1});
  EXPECT_EQ(judge(model, "autocast-fp16").at("verdict"), "nonfinite");
  const Json body = judge(model, "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  const Json& islands = body.at("islands");
  EXPECT_EQ(islands.at("regions"), Json({"wide"}));
  EXPECT_EQ(body.at("evidence").at("islands"), Json({"wide"}));
  EXPECT_EQ(body.at("evidence").at("precision"), "islands-fp16");
  EXPECT_TRUE(islands.at("minimal").get<bool>());
  EXPECT_EQ(islands.at("all_regions"), Json({"first", "wide", "last"}));
  EXPECT_EQ(islands.at("alternatives"), Json::array());
  EXPECT_EQ(islands.at("fresh_inputs").at("healed"), islands.at("fresh_inputs").at("tried"));
  EXPECT_GT(islands.at("fresh_inputs").at("tried"), 0);
  EXPECT_LT(islands.at("share_of_maximum").get<double>(), 1.0);
  // The product alone must be raised: the scaling takes its FP32 result as it is.
  EXPECT_EQ(islands.at("operators").at("set"),
            Json::parse(R"([{"index": 1, "name": "aten::linear", "region": "wide"}])"));
  // BF16 holds values of 1e6.
  EXPECT_EQ(judge(model, "islands-bf16").at("islands").at("needed"), false);
}

// The large values leave the first of the two regions.
Outputs two_wide_regions(State& state) {
  at::Tensor x = region("up", linear, state[0], state[1]);
  x = region("down", scaled_down, x, state[2]);
  return {region("last", linear, x, state[3])};
}

TEST(Islands, FollowLargeValuesIntoTheNextRegion) {
  const Json body = judge(chain(two_wide_regions, {1e6, 1, 1}), "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("islands").at("regions"), Json({"up", "down"}));
}

Outputs outside_of_regions(State& state) {
  at::Tensor x = at::linear(state[0], state[1]) * 1e-4;
  return {region("last", linear, x, state[2])};
}

TEST(Islands, SayWhatNoRegionCanExpress) {
  const Json body = judge(chain(outside_of_regions, {1e6, 1}), "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  EXPECT_EQ(body.at("islands").at("healed"), false);
  EXPECT_NE(body.at("reason").get<std::string>().find("outside of all regions"), std::string::npos)
      << body.at("reason");
  EXPECT_FALSE(body.at("islands").at("operators").at("set").empty());
}

// What underflows in `soft` is bad only in `log`, there in FP32 as well.
Outputs log_of_underflow(State& state) {
  const at::Tensor x = region("a", linear, state[0], state[1]);
  const at::Tensor p = region(
      "soft", [](const at::Tensor& t) { return at::softmax(t, 1) * 1e-7; }, x);
  const at::Tensor y = region(
      "log", [](const at::Tensor& t) { return at::log(t); }, p);
  return {region("last", linear, y, state[2])};
}

TEST(Islands, GoBackToWhatUnderflowed) {
  const auto model = chain(log_of_underflow, {1, 1});
  EXPECT_EQ(judge(model, "autocast-fp16").at("verdict"), "nonfinite");
  const Json body = judge(model, "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("islands").at("regions"), Json({"soft"}));
  const Json& operators = body.at("islands").at("operators");
  ASSERT_EQ(operators.at("set").size(), 1U) << operators;
  EXPECT_EQ(operators.at("set")[0].at("name"), "aten::mul");
}

// 0 / 0, outside of all regions; both operands underflow inside.
Outputs zero_by_zero(State& state) {
  const auto tiny = [](const at::Tensor& x, const at::Tensor& w) {
    return at::sigmoid(at::linear(x, w)) * 1e-8;
  };
  const at::Tensor above = region("above", tiny, state[0], state[1]);
  const at::Tensor below = region("below", tiny, state[0], state[2]);
  return {region("last", linear, above / below, state[3])};
}

TEST(Islands, HealAnOperatorOutsideOfThemByItsOperands) {
  const Json body = judge(chain(zero_by_zero, {0.01, 0.01, 0.01}), "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("islands").at("regions"), Json({"above", "below"}));
}

// Bad wherever autocast is on around the regions.
TEST(Islands, AreDeniedOnlyAfterATrialOfAllRegions) {
  const auto run = [](State& state) -> Outputs {
    at::Tensor x = region("first", linear, state[0], state[1]);
    const bool lowered = at::autocast::is_autocast_enabled(at::kCPU);
    x = region(
        "second", [lowered](const at::Tensor& t) { return t * (lowered ? 0.0 : 1.0); }, x);
    return {region(
        "log", [](const at::Tensor& t) { return at::log(t.abs()); }, x)};
  };
  const Json body = judge(chain(run, {1}), "islands-fp16");
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  const auto reason = body.at("reason").get<std::string>();
  EXPECT_NE(reason.find("no set of FP32 islands heals autocast-fp16: aten::log is not finite in region log"),
            std::string::npos)
      << reason;
  EXPECT_NE(reason.find("with all 3 regions in FP32 it is still nonfinite"), std::string::npos) << reason;
  const Json& operators = body.at("islands").at("operators");
  EXPECT_FALSE(operators.contains("set"));
  EXPECT_NE(operators.at("absent").at("set").get<std::string>().find("is not finite though it"),
            std::string::npos);
}

// A kernel that is wrong in 16 bit, in one region of four.
Outputs wrong_in_16_bit(State& state) {
  const auto faulty = [](const at::Tensor& t, const at::Tensor& w) {
    const at::Tensor y = at::linear(t, w);
    return y * (y.scalar_type() == at::kBFloat16 ? 1.5 : 1.0);
  };
  at::Tensor x = region("a", linear, state[0], state[1]);
  x = region("b", linear, x, state[2]);
  x = region("faulty", faulty, x, state[3]);
  return {region("d", linear, x, state[4])};
}

TEST(Islands, AreFoundByDeltaDebuggingForAnInaccurateModel) {
  const auto model = chain(wrong_in_16_bit, {1, 1, 1, 1});
  EXPECT_EQ(judge(model, "autocast-bf16").at("verdict"), "inaccurate");
  const Json body = judge(model, "islands-bf16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("islands").at("regions"), Json({"faulty"}));
  EXPECT_EQ(body.at("islands").at("search"), "delta debugging");
}

TEST(Islands, CannotHealWhatIsWrongEverywhere) {
  const auto run = [](State& state) -> Outputs {
    const at::Tensor y = region("all", linear, state[0], state[1]);
    return {y * (at::autocast::is_autocast_enabled(at::kCPU) ? 1.5 : 1.0)};
  };
  const Json body = judge(chain(run, {1}), "islands-bf16");
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  EXPECT_NE(body.at("reason").get<std::string>().find("with all 1 regions in FP32"), std::string::npos)
      << body.at("reason");
}

TEST(Islands, WithoutARegionSaySo) {
  const auto run = [](State& state) -> Outputs {
    const at::Tensor y = at::linear(state[0], state[1]);
    return {y * (y.scalar_type() == at::kBFloat16 ? 1.5 : 1.0)};
  };
  const Json body = judge(chain(run, {1}), "islands-bf16");
  EXPECT_NE(body.at("reason").get<std::string>().find("names no regions"), std::string::npos);
}

// Nested regions are named by their path, so that two parts of one name stay apart.
TEST(Regions, AreNamedByTheirPath) {
  const auto seen = [](std::vector<std::string> islands) {
    const precision::IslandScope scope(std::move(islands));
    const at::Tensor x = at::ones({2}, at::kHalf);
    std::vector<at::ScalarType> types;
    for (const char* block : {"block0", "block1"}) {
      region(
          block,
          [&](const at::Tensor& outer) {
            return region(
                "ffn",
                [&](const at::Tensor& inner) {
                  types.push_back(inner.scalar_type());
                  return inner;
                },
                outer);
          },
          x);
    }
    return types;
  };
  EXPECT_EQ(seen({"ffn"}), (std::vector{at::kHalf, at::kHalf}));
  EXPECT_EQ(seen({"block1.ffn"}), (std::vector{at::kHalf, at::kFloat}));
  EXPECT_EQ(seen({"block0"}), (std::vector{at::kFloat, at::kHalf}));
}

// Single operators, by number, in every form of argument.
struct Counted {
  at::Tensor out;
  std::size_t calls;
};

Counted run_raised(const std::function<at::Tensor()>& body, const std::vector<std::size_t>& chosen) {
  const at::NoGradGuard no_grad;
  const precision::AutocastScope autocast(at::kCPU, at::kHalf);
  Tracer tracer;
  OperatorIslands islands({chosen.begin(), chosen.end()}, tracer);
  const InterceptScope intercept(islands);
  const at::Tensor out = body();
  return {out, tracer.calls().size()};
}

TEST(OperatorIslands, KeepWhatIsWrittenInPlace) {
  const at::Tensor a = at::full({3}, 60000.0, at::kHalf);
  const auto body = [&] {
    at::Tensor t = a.clone();  // 0
    t.add_(a);                 // 1: overflows in FP16 whatever it is computed in, since it is stored there
    t.copy_(a);                // 2
    t.mul_(0.5);               // 3
    return t;
  };
  const auto [out, calls] = run_raised(body, {1, 3});
  EXPECT_EQ(calls, 4U);
  EXPECT_EQ(out.scalar_type(), at::kHalf);
  EXPECT_TRUE(at::equal(out, at::full({3}, 30000.0, at::kHalf)));
}

TEST(OperatorIslands, RaiseListsAndOutArguments) {
  const at::Tensor a = at::full({2}, 0.1, at::kHalf);
  const auto [joined, calls] = run_raised([&] { return at::cat({a, a}); }, {0});
  EXPECT_EQ(joined.scalar_type(), at::kFloat);
  at::Tensor out = at::empty({0}, at::kHalf);
  run_raised([&] { return at::add_out(out, a, a); }, {0});
  EXPECT_EQ(out.scalar_type(), at::kHalf);
  EXPECT_TRUE(at::equal(out, at::add(a, a)));
}

TEST(OperatorIslands, ForeachWritesReachTheirTensors) {
  std::vector<at::Tensor> tensors{at::full({2}, 3.0, at::kHalf), at::full({1}, 5.0, at::kHalf)};
  run_raised(
      [&] {
        at::_foreach_mul_(tensors, 2.0);
        return tensors[0];
      },
      {0});
  EXPECT_TRUE(at::equal(tensors[0], at::full({2}, 6.0, at::kHalf)));
  EXPECT_TRUE(at::equal(tensors[1], at::full({1}, 10.0, at::kHalf)));
}

TEST(OperatorIslands, LeaveViewsAlone) {
  const at::Tensor a = at::full({2, 3}, 0.1, at::kHalf);
  const auto [out, calls] = run_raised([&] { return a.view({3, 2}); }, {0});
  EXPECT_TRUE(out.is_alias_of(a));
}

TEST(OperatorIslands, OverrideATypeThatIsAskedFor) {
  const at::Tensor a = at::full({4}, 60000.0);
  const auto [out, calls] = run_raised([&] { return at::sum(a, at::kHalf); }, {0});
  EXPECT_EQ(out.scalar_type(), at::kFloat);
  EXPECT_EQ(out.item<float>(), 240000.0f);
}

}  // namespace
}  // namespace ampgate::validate
