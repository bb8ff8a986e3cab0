// Every operator checked on the values it was given: right kernels pass, a wrong one is named, and those
// after it are not.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <functional>

#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/autocast.h"
#include "precision/region.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/explanation.h"

namespace ampgate::validate {
namespace {

using at::Tensor;
using cases::Outputs;
using cases::State;
using local::Finding;
using precision::region;
using results::Json;

// An operator that no adapter knows. In 16 bit it forgets the last eighth of the reduction when `faulty`.
bool faulty = false;
Tensor custom_linear(const Tensor& x, const Tensor& weight) {
  const bool wrong = faulty && x.scalar_type() != at::kDouble && x.scalar_type() != at::kFloat;
  const std::int64_t kept = x.size(-1) - (wrong ? x.size(-1) / 8 : 0);
  return at::linear(x.narrow(-1, 0, kept), weight.narrow(-1, 0, kept));
}

TORCH_LIBRARY(ampgate_local_test, library) {
  library.def("custom_linear(Tensor x, Tensor weight) -> Tensor", custom_linear);
}

Tensor call_custom(const Tensor& x, const Tensor& weight) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("ampgate_local_test::custom_linear", "")
                             .typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(x, weight);
}

Inspection inspected(const std::function<Tensor()>& run, Interceptor* inner = nullptr) {
  static const results::Rules rules;
  const at::NoGradGuard no_grad;
  Inspector inspector({}, local::LocalChecks(rules), inner);
  const InterceptScope scope(inspector.tracer());
  return inspector.take({run()});
}

std::string describe(const Inspection& inspection) {
  return inspection.checks->to_json(inspection.calls).dump(1) + inspection.checks->sentence(inspection.calls);
}

const TracedCall& named(const Inspection& inspection, const std::string& name) {
  const auto found = std::find_if(inspection.calls.begin(), inspection.calls.end(),
                                  [&](const TracedCall& call) { return call.name == name; });
  EXPECT_NE(found, inspection.calls.end()) << name;
  return *found;
}

Tensor normal(at::IntArrayRef sizes, c10::ScalarType type, std::string_view name = "x") {
  return cases::Fill(7, "local", "test").normal(name, sizes).to(type);
}

class Operators : public testing::TestWithParam<c10::ScalarType> {
 protected:
  Tensor x(at::IntArrayRef sizes, std::string_view name = "x") const {
    return normal(sizes, GetParam(), name);
  }

  // Right kernels, all judged by a bound.
  void expect_bounded(const std::function<void()>& run) const {
    const Inspection inspection = inspected([&] {
      run();
      return at::zeros({1});
    });
    const Json json = inspection.checks->to_json(inspection.calls);
    EXPECT_EQ(inspection.checks->first_outside(), nullptr) << describe(inspection);
    EXPECT_EQ(json.at("by_error_ratio"), 0) << describe(inspection);
  }
};

TEST_P(Operators, Products) {
  expect_bounded([&] {
    const Tensor a = x({9, 33}, "a"), b = x({33, 7}, "b"), w = x({7, 33}, "w"), bias = x({7}, "bias");
    at::linear(a, w, bias);
    at::linear(x({2, 3, 33}), w);
    at::linear(x({33}), w);
    at::matmul(x({2, 3, 5, 33}), x({2, 3, 33, 4}));
    at::matmul(x({4, 5, 33}), b);
    at::matmul(a, x({33}));
    at::mm(a, b);
    at::bmm(x({3, 5, 33}), x({3, 33, 4}));
    at::addmm(bias, a, b, 0.5, 2.0);
    at::addmm(x({9, 7}), a, b);
    at::addmm(bias, a, b, 0.0, 1.0);
    at::baddbmm(x({3, 5, 4}), x({3, 5, 33}), x({3, 33, 4}));
    Tensor sum = x({9, 7});
    sum.addmm_(a, b);
    at::linear(x({600, 33}), x({300, 33}, "many"));  // sampled
  });
}

TEST_P(Operators, Convolutions) {
  expect_bounded([&] {
    const Tensor image = x({2, 6, 9, 9});
    at::conv2d(image, x({4, 6, 3, 3}), x({4}), 1, 1);
    at::conv2d(image, x({6, 2, 3, 3}), {}, 1, 1, 1, 3);
    at::conv2d(image, x({6, 1, 3, 3}), x({6}), 2, 1, 1, 6);
    at::conv1d(x({2, 6, 20}), x({4, 6, 5}));
    at::conv3d(x({1, 2, 5, 5, 5}), x({3, 2, 3, 3, 3}));
    at::convolution(image, x({4, 6, 3, 3}), {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1);
    at::conv2d(image.contiguous(at::MemoryFormat::ChannelsLast), x({4, 6, 3, 3}));
  });
}

TEST_P(Operators, Normalisations) {
  expect_bounded([&] {
    const Tensor image = x({2, 6, 5, 5});
    const Tensor w = x({6}, "w"), b = x({6}, "b");
    at::layer_norm(x({4, 6}), {6}, w, b);
    at::layer_norm(x({4, 6}), {4, 6});
    at::rms_norm(x({4, 6}), {6}, w, 1e-6);
    at::rms_norm(x({4, 6}), {6});
    at::group_norm(image, 3, w, b);
    at::batch_norm(image, w, b, x({6}, "mean"), x({6}, "variance").abs().add(0.5), false, 0.1, 1e-5, true);
  });
}

TEST_P(Operators, SoftmaxAndAttention) {
  expect_bounded([&] {
    at::softmax(x({4, 33}), -1);
    at::softmax(x({4, 33}), 0);
    at::log_softmax(x({4, 33}), 1);
    at::cross_entropy_loss(x({8, 5}), at::arange(8) % 5);
    const Tensor q = x({2, 3, 7, 16}, "q"), k = x({2, 3, 9, 16}, "k"), v = x({2, 3, 9, 16}, "v");
    at::scaled_dot_product_attention(q, k, v);
    at::scaled_dot_product_attention(q, k, v, {}, 0.0, true);
    at::scaled_dot_product_attention(q, k, v, {}, 0.0, false, 0.5);
    const Tensor allowed = x({7, 9}).gt(0);
    at::scaled_dot_product_attention(q, k, v, allowed);
    at::scaled_dot_product_attention(q, k, v, x({2, 1, 7, 9}));
    at::scaled_dot_product_attention(
        q, k, v, at::zeros({7, 9}, GetParam()).masked_fill(allowed.logical_not(), -INFINITY));
  });
}

TEST_P(Operators, Elements) {
  expect_bounded([&] {
    const Tensor a = x({7, 33}, "a"), b = x({33}, "b"), positive = a.abs().add(0.5);
    a.add(b);
    a.add(b, 0.3);
    a.sub(b);
    at::rsub(a, 1.1);
    a.mul(b);
    a.mul(0.7);
    a.div(positive);
    a.div(3);
    a + at::scalar_tensor(0.3);
    at::addcmul(a, a, b, 0.3);
    at::addcdiv(a, b, positive);
    at::gelu(a);
    at::gelu(a, "tanh");
    for (auto f :
         {at::silu, at::exp,  at::tanh,  at::sigmoid, at::sin,  at::cos,         at::erf,         at::square,
          at::relu, at::abs,  at::neg,   at::expm1,   at::mish, at::hardswish,   at::hardsigmoid, at::round,
          at::exp2, at::atan, at::asinh, at::sinh,    at::cosh, at::log_sigmoid, at::selu}) {
      f(a);
    }
    for (auto f : {at::log, at::sqrt, at::rsqrt, at::reciprocal, at::log1p, at::log2}) f(positive);
    at::softplus(a);
    at::elu(a);
    at::leaky_relu(a, 0.1);
    a.pow(2);
    positive.pow(0.5);
    Tensor c = a.clone();
    c.add_(b).mul_(2).relu_().sigmoid_();
    at::add_out(c, a, b);
    a.to(at::kHalf);
    a.to(at::kBFloat16);
    at::clamp(a, -0.1, 0.1);
    at::where(a.gt(0), a, b);
    at::dropout(a, 0.5, false);
  });
}

TEST_P(Operators, ReductionsAndMoves) {
  expect_bounded([&] {
    const Tensor a = x({7, 33}, "a");
    a.sum();
    a.sum(0);
    a.mean(at::IntArrayRef{1}, true);
    a.cumsum(1);
    a.amax(1);
    at::cat({a, a}, 0);
    at::stack({a, a});
    at::embedding(a, at::arange(7));
    a.index({at::arange(3)});
    at::topk(a, 3);
    a.masked_fill(a.gt(0), 0.3);
    const Tensor image = x({2, 3, 8, 8});
    at::avg_pool2d(image, 2);
    at::adaptive_avg_pool2d(image, {3, 3});
    at::max_pool2d(image, 2);
    at::upsample_nearest2d(image, at::IntArrayRef{16, 16});
    at::full({3}, 0.5, GetParam());
    a.t().contiguous();
  });
}

INSTANTIATE_TEST_SUITE_P(Types, Operators, testing::Values(at::kFloat, at::kHalf, at::kBFloat16),
                         [](const auto& type) { return std::string(c10::toString(type.param)); });

TEST(Local, AutocastsOwnRoundingIsNoError) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const Inspection inspection = inspected([&] {
      const precision::AutocastScope scope(at::kCPU, type);
      const Tensor w = normal({32, 32}, at::kFloat, "w");
      Tensor y = at::linear(normal({8, 32}, at::kFloat), w, normal({32}, at::kFloat, "b"));
      y = at::layer_norm(y, {32}, normal({32}, at::kFloat, "g"), normal({32}, at::kFloat, "h"));
      y = at::matmul(at::gelu(y), w) + y;
      y = at::einsum("ij,kj->ik", {y, w});
      return at::mse_loss(y, normal({8, 32}, at::kFloat, "t"));
    });
    EXPECT_EQ(inspection.checks->first_outside(), nullptr) << describe(inspection);
    const TracedCall& linear = named(inspection, "aten::linear");
    EXPECT_EQ(linear.inputs[0].type, at::kFloat);
    EXPECT_EQ(linear.inputs[0].seen, type);
    EXPECT_EQ(linear.inputs[1].seen, type);
    const TracedCall& norm = named(inspection, "aten::layer_norm");
    EXPECT_EQ(norm.inputs[0].seen, type);
    EXPECT_EQ(norm.inputs[1].seen, at::kFloat);  // layer_norm takes mixed types as they are
  }
}

TEST(Local, UnknownOperatorsAreJudgedByTheRatioAndRandomOnesAreNamed) {
  faulty = false;
  const auto run = [] { return call_custom(normal({16, 64}, at::kHalf), normal({16, 64}, at::kHalf, "w")); };
  Json json;
  {
    const Inspection inspection = inspected([&] { return at::dropout(run(), 0.5, true); });
    EXPECT_EQ(inspection.checks->first_outside(), nullptr) << describe(inspection);
    json = inspection.checks->to_json(inspection.calls);
  }
  EXPECT_EQ(json.at("error_ratio_operators"), Json({"ampgate_local_test::custom_linear"}));
  EXPECT_EQ(json.at("unchecked"), Json({"aten::dropout"}));
  faulty = true;
  const Inspection inspection = inspected(run);
  faulty = false;
  ASSERT_NE(inspection.checks->first_outside(), nullptr);
  EXPECT_EQ(inspection.checks->first_outside()->finding, Finding::kOutside);
}

// Puts another kernel in the place of the n-th call of an operator.
struct Wrong : Interceptor {
  using Kernel = std::function<void(const c10::OperatorHandle&, torch::jit::Stack&)>;
  Wrong(std::string name_, int number_, Kernel kernel_)
      : name(std::move(name_)), number(number_), kernel(std::move(kernel_)) {}
  std::string name;
  int number;
  Kernel kernel;
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    if (op.schema().name() == name && number-- == 0) {
      kernel(op, stack);
    } else {
      op.callBoxed(stack);
    }
  }
};

Tensor network(c10::ScalarType type) {
  const auto linear = [](const Tensor& y, const Tensor& w) { return at::linear(y, w); };
  const auto norm = [](const Tensor& y) { return at::layer_norm(y, {64}); };
  const auto gelu = [](const Tensor& y) { return at::gelu(y); };
  const Tensor w1 = normal({64, 64}, type, "w1") * 0.125;
  const Tensor w2 = normal({64, 64}, type, "w2") * 0.125;
  Tensor y = region("first", linear, normal({32, 64}, type), w1);
  y = region("norm", norm, y);
  y = region("activation", gelu, y);
  y = region("second", linear, y, w2);
  return at::softmax(y, -1);
}

void expect_named(Wrong wrong, const std::string& region_name) {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    Wrong copy = wrong;
    const Inspection inspection = inspected([&] { return network(type); }, &copy);
    const auto* first = inspection.checks->first_outside();
    ASSERT_NE(first, nullptr) << type;
    EXPECT_EQ(inspection.calls[first->call].region, region_name) << describe(inspection);
    EXPECT_EQ(first->finding, Finding::kOutside);
    EXPECT_EQ(inspection.checks->outside(), 1) << describe(inspection);
    EXPECT_NE(
        inspection.checks->sentence(inspection.calls).find("the other operators only pass its error on"),
        std::string::npos);
  }
}

TEST(Local, WrongOperatorIsNamedAndLaterOnesOnlyPassItOn) {
  expect_named({"aten::linear", 1,
                [](const auto& op, auto& stack) {  // the last K block is dropped
                  auto& x = stack[stack.size() - 3];
                  auto& w = stack[stack.size() - 2];
                  x = x.toTensor().narrow(1, 0, 56);
                  w = w.toTensor().narrow(1, 0, 56);
                  op.callBoxed(stack);
                }},
               "second");
  expect_named({"aten::layer_norm", 0,
                [](const auto& op, auto& stack) {
                  stack[stack.size() - 2] = 1e-3;  // eps
                  op.callBoxed(stack);
                }},
               "norm");
  expect_named({"aten::gelu", 0,
                [](const auto& op, auto& stack) {
                  stack.back() = "tanh";
                  op.callBoxed(stack);
                }},
               "activation");
}

// Nothing but the error ratio is known of lerp, and truncation is within it.
TEST(Local, ResultsThatAreNotRoundedToNearestShow) {
  const auto run = [] {
    return at::lerp(normal({64, 64}, at::kBFloat16), normal({64, 64}, at::kBFloat16, "end"), 0.25);
  };
  EXPECT_EQ(inspected(run).checks->first_outside(), nullptr) << describe(inspected(run));
  Wrong truncated{"aten::lerp", 0, [](const auto& op, auto& stack) {
                    op.callBoxed(stack);
                    const Tensor given = stack.back().toTensor();
                    const Tensor exact =
                        at::lerp(normal({64, 64}, at::kBFloat16).to(at::kFloat),
                                 normal({64, 64}, at::kBFloat16, "end").to(at::kFloat), 0.25);
                    // The bits of BF16 are the upper half of FP32's.
                    stack.back() = exact.view(at::kInt)
                                       .bitwise_and(static_cast<std::int64_t>(-65536))
                                       .view(at::kFloat)
                                       .to(given.scalar_type());
                  }};
  const Inspection inspection = inspected(run, &truncated);
  ASSERT_NE(inspection.checks->first_outside(), nullptr) << describe(inspection);
  EXPECT_NE(inspection.checks->first_outside()->text.find("not rounded to nearest"), std::string::npos);
}

TEST(Local, HalfPartialSumsAreBetweenTheBounds) {
  const Inspection inspection = inspected([&] {
    return at::conv_transpose2d(normal({2, 32, 14, 14}, at::kHalf), normal({32, 16, 4, 4}, at::kHalf, "w"),
                                {}, 2, 1);
  });
  const auto* first = inspection.checks->first_outside();
  // A CPU that adds the taps up in FP32 is within the bound.
  if (first != nullptr) {
    EXPECT_EQ(first->finding, Finding::kBetween) << describe(inspection);
    EXPECT_FALSE(first->explained_by.empty());
  }
}

// A model of two layers, the second of which can be made wrong.
cases::Case model(Outputs (*run)(State&)) {
  return {.name = "test-model",
          .dims = {"rows", "width"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const cases::Shape& shape, const cases::Fill& fill) -> State {
            const auto width = shape["width"];
            return {{{"x", fill.normal("x", {shape["rows"], width})},
                     {"w1", fill.normal("w1", {width, width}, 0.125), cases::Role::kWeight},
                     {"w2", fill.normal("w2", {width, width}, 0.125), cases::Role::kWeight}}};
          },
          .run = run,
          .facts = [](const cases::Shape&) -> cases::Facts {
            return {.bound = {.family = cases::Family::kModel}};
          },
          .model = true};
}

Json judged(const cases::Case& definition, std::string_view precision) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape({64, 64}), false);
  return run.judge(precision::find(precision));
}

TEST(Explanation, LocalFaultMakesTheModelInaccurateAndNamesTheOperator) {
  const auto run = [](State& s) -> Outputs {
    const Tensor y = region(
        "one", [](const Tensor& a, const Tensor& w) { return at::relu(at::linear(a, w)); }, s[0], s[1]);
    return {region("two", call_custom, y, s[2])};
  };
  faulty = false;
  // Of a library's operator nothing is known but the error ratio, which is no proof.
  Json body = judged(model(run), "cast-bf16");
  EXPECT_EQ(body.at("verdict"), "suspect") << body.at("reason");
  EXPECT_NE(body.at("reason").get<std::string>().find("custom_linear was judged by the error ratio alone"),
            std::string::npos);
  EXPECT_EQ(body.at("explanation").at("local").at("operators"), 3) << body.at("explanation");
  EXPECT_EQ(body.at("explanation").at("local").at("by_bound"), 2);
  faulty = true;
  body = judged(model(run), "cast-bf16");
  faulty = false;
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  EXPECT_EQ(body.at("explanation").at("local").at("first_outside").at("region"), "two");
  EXPECT_NE(body.at("reason").get<std::string>().find("ampgate_local_test::custom_linear in region 'two'"),
            std::string::npos)
      << body.at("reason");
}

TEST(Explanation, OverflowInTheMiddleIsToldInTheReason) {
  const auto run = [](State& s) -> Outputs {
    const auto layer = [](const Tensor& a, const Tensor& w) { return at::linear(a, w); };
    const Tensor y = region("up", layer, s[0] * 1000, s[1] * 1000);
    return {region("down", layer, y * 1e-6, s[2])};
  };
  const Json body = judged(model(run), "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "nonfinite") << body.at("reason");
  const Json& first = body.at("explanation").at("first_bad");
  EXPECT_EQ(first.at("region"), "up");
  EXPECT_EQ(first.at("operator"), "aten::linear");
  EXPECT_EQ(first.at("class"), "intermediate");
  EXPECT_EQ(first.at("reason"), "overflow");
  EXPECT_GT(std::abs(first.at("exact").get<double>()), 65504.0);
  EXPECT_NE(body.at("reason").get<std::string>().find("aten::linear in region 'up'"), std::string::npos);
  EXPECT_EQ(judged(model(run), "cast-bf16").at("verdict"), "pass");
}

TEST(Explanation, SwallowedValueOfAPassingRunIsAFinding) {
  const auto run = [](State& s) -> Outputs {
    const Tensor big = at::linear(s[0], s[1]).mul(1e9);
    return {at::linear(s[0], s[2]) + at::nan_to_num(big, 0, 0, 0).mul(0)};
  };
  const Json body = judged(model(run), "cast-fp16");
  ASSERT_EQ(body.at("explanation").at("swallowed").size(), 1U) << body.at("reason");
  EXPECT_EQ(body.at("explanation").at("swallowed")[0].at("operator"), "aten::mul");
  EXPECT_FALSE(body.at("explanation").contains("first_bad"));
  const auto& findings = body.at("findings");
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const Json& f) { return f.at("verdict") == "swallowed"; }));
}

// Whole cases as they are registered, but for the examples, which are wrong on purpose.
TEST(LocalChecks, NoRightOperatorIsRefusedOverSeeds) {
  constexpr std::uint64_t kSeeds = 10;
  const at::NoGradGuard no_grad;
  const results::Rules rules;
  int trials = 0;
  for (const auto& [name, definition] : cases::registry()) {
    for (const auto& suite : definition.suites) {
      if (suite.suite != "smoke") continue;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const auto shape = definition.shape(suite.shapes.front());
        const State original = definition.setup(shape, cases::Fill(seed, name, shape.name));
        for (const char* in : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
          State prepared = cases::prepare(original, precision::find(in), at::kCPU);
          Inspector inspector(prepared, local::LocalChecks(rules));
          Outputs outputs;
          {
            const InterceptScope scope(inspector.tracer());
            outputs = cases::execute(definition, prepared, precision::find(in), at::kCPU);
          }
          const Inspection inspection = inspector.take(outputs);
          ++trials;
          const auto* first = inspection.checks->first_outside();
          EXPECT_TRUE(first == nullptr || first->finding != Finding::kOutside)
              << name << ' ' << in << " seed " << seed << ": "
              << inspection.checks->sentence(inspection.calls);
        }
      }
    }
  }
  EXPECT_GT(trials, 1000);
}

}  // namespace
}  // namespace ampgate::validate
