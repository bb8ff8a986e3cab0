// The first bad value and its reason, on small runs whose fault is known.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>

#include "backends/poison_allocator.h"
#include "precision/autocast.h"
#include "precision/region.h"
#include "validate/first_bad.h"

namespace ampgate::validate {
namespace {

using precision::region;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Found {
  std::vector<TracedCall> calls;
  BadReport report;

  const TracedCall& first_call() const { return calls.at(report.first.value().call.value()); }
  std::string text() const { return report.first ? sentence(*report.first, calls) : "nothing"; }
};

// Traces a run that gives its outputs; `inner` as for the tracer.
Found find(const std::function<std::vector<at::Tensor>()>& run, Interceptor* inner = nullptr,
           const std::map<std::string, at::Tensor>& named = {}) {
  MadeBadValues made;
  Tracer tracer(
      [&](const CallView& view) {
        if (auto bad = made_bad_value(view)) made.emplace(view.record.index, *bad);
      },
      inner);
  std::map<std::string, BadValue> stored;
  for (const auto& [name, tensor] : named) {
    tracer.name_tensor(tensor, name);
    if (auto bad = stored_bad_value(tensor, tensor)) stored.emplace(name, *bad);
  }
  std::vector<at::Tensor> outputs;
  {
    const InterceptScope scope(tracer);
    outputs = run();
  }
  std::vector<std::size_t> reached;
  for (const auto& output : outputs) {
    if (scan_finite(output).finite()) continue;
    const auto writers = tracer.bad_writers(output);
    reached.insert(reached.end(), writers.begin(), writers.end());
  }
  Found found{tracer.take(), {}};
  found.report = find_bad_values({found.calls, made, stored, reached});
  return found;
}

at::Tensor half(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kDouble).to(at::kHalf);
}

void expect_first(const Found& found, const std::string& name, BadClass cls, BadReason reason) {
  ASSERT_TRUE(found.report.first) << found.text();
  EXPECT_EQ(found.first_call().name, name) << found.text();
  EXPECT_EQ(found.report.first->cls, cls) << found.text();
  EXPECT_EQ(found.report.first->value.reason, reason) << found.text();
}

TEST(FirstBad, OverflowInTheMiddleOfAModelIsNamedWithItsExactValue) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::full({2, 4}, 100, at::kHalf);
  const at::Tensor w1 = at::eye(4, at::kHalf);
  const at::Tensor w2 = at::full({4, 4}, 200, at::kHalf);
  const auto layer = [](const at::Tensor& a, const at::Tensor& b) { return at::linear(a, b); };
  const Found found = find([&]() -> std::vector<at::Tensor> {
    return {region(
        "body",
        [&](const at::Tensor& y) {
          const at::Tensor a = at::relu(region("first", layer, y, w1));
          const at::Tensor b = region("second", layer, a, w2);
          return at::softmax(region("third", layer, b, w1), -1);
        },
        x)};
  });
  expect_first(found, "aten::linear", BadClass::kIntermediate, BadReason::kOverflow);
  EXPECT_EQ(found.first_call().index, 2U);
  EXPECT_EQ(found.first_call().region, "body.second");
  EXPECT_EQ(found.report.first->value.exact, 80000.0);
  EXPECT_EQ(found.report.first->value.inputs[0]->max, 100.0);
  EXPECT_NE(found.text().find("80000 is beyond FP16's largest finite value 65504"), std::string::npos)
      << found.text();
  EXPECT_TRUE(found.report.swallowed.empty());
}

TEST(FirstBad, ReasonsOfUndefinedResults) {
  const at::NoGradGuard no_grad;
  const at::Tensor zero = half({1, 0, 2});
  expect_first(find([&]() -> std::vector<at::Tensor> {
                 return {at::div(half({1, 3, 4}), zero).mul(2)};
               }),
               "aten::div", BadClass::kIntermediate, BadReason::kDivisionByZero);
  expect_first(find([&]() -> std::vector<at::Tensor> {
                 return {at::div(half({1, 0, 4}), zero)};
               }),
               "aten::div", BadClass::kIntermediate, BadReason::kDivisionByZero);
  expect_first(find([&]() -> std::vector<at::Tensor> { return {zero.reciprocal()}; }), "aten::reciprocal",
               BadClass::kIntermediate, BadReason::kDivisionByZero);
  expect_first(find([&]() -> std::vector<at::Tensor> { return {at::log(zero).sum()}; }), "aten::log",
               BadClass::kIntermediate, BadReason::kLogOfZero);
  expect_first(find([&]() -> std::vector<at::Tensor> {
                 return {at::log(-half({1, 2}))};
               }),
               "aten::log", BadClass::kIntermediate, BadReason::kLogOfZero);
  expect_first(find([&]() -> std::vector<at::Tensor> {
                 return {at::sqrt(-half({1, 2}))};
               }),
               "aten::sqrt", BadClass::kIntermediate, BadReason::kInvalid);
  // Both overflow first: the difference only passes on what the first made.
  const at::Tensor big = half({60000});
  const Found found = find([&]() -> std::vector<at::Tensor> { return {big.mul(2).sub(big.mul(3))}; });
  expect_first(found, "aten::mul", BadClass::kIntermediate, BadReason::kOverflow);
  EXPECT_EQ(found.first_call().index, 0U);
}

TEST(FirstBad, InfinityMinusInfinityOfConstantsIsInvalid) {
  const at::NoGradGuard no_grad;
  const Found found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor mask = at::full({2}, kInf);
    return {at::sub(mask, mask)};
  });
  expect_first(found, "aten::sub", BadClass::kIntermediate, BadReason::kInvalid);
}

TEST(FirstBad, InPlaceOutAndListsAreSeen) {
  const at::NoGradGuard no_grad;
  const at::Tensor one = half({1, 1});
  Found found = find([&]() -> std::vector<at::Tensor> {
    at::Tensor y = half({60000, 1});
    y.narrow(0, 0, 1).mul_(2);
    return {at::cat({one, y})};
  });
  expect_first(found, "aten::mul_", BadClass::kIntermediate, BadReason::kOverflow);
  EXPECT_EQ(found.report.first->value.exact, 120000.0);
  found = find([&]() -> std::vector<at::Tensor> {
    at::Tensor out = at::empty({2}, at::kHalf);
    at::add_out(out, half({60000, 1}), half({60000, 1}));
    return {out};
  });
  expect_first(found, "aten::add", BadClass::kIntermediate, BadReason::kOverflow);
  found = find([&]() -> std::vector<at::Tensor> {
    std::vector<at::Tensor> list{half({60000}), half({2})};
    at::_foreach_mul_(list, 2.0);
    return list;
  });
  expect_first(found, "aten::_foreach_mul_", BadClass::kIntermediate, BadReason::kOverflow);
}

TEST(FirstBad, UnfilledMemoryIsNamedWhenNothingElseIs) {
  const at::NoGradGuard no_grad;
  const Found found = find([&]() -> std::vector<at::Tensor> {
    at::Tensor out = at::empty({4});
    at::Tensor all = out.view({4});
    // What an allocator may leave there.
    static_cast<float*>(out.mutable_data_ptr())[3] = std::nanf("");
    all.narrow(0, 0, 3).copy_(at::ones({3}));
    return {out.mul(2)};
  });
  ASSERT_TRUE(found.report.first) << found.text();
}

// Writes NaN at one element of an operator's result.
struct Fault : Interceptor {
  explicit Fault(std::string name_) : name(std::move(name_)) {}
  std::string name;
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    op.callBoxed(stack);
    if (op.schema().name() == name) stack.back().toTensor().flatten()[1].fill_(std::nan(""));
  }
};

TEST(FirstBad, KernelFaultIsTold) {
  const at::NoGradGuard no_grad;
  Fault fault("aten::exp");
  const Found found = find(
      [&]() -> std::vector<at::Tensor> {
        return {at::relu(half({1, 2, 3})).exp().sum()};
      },
      &fault);
  expect_first(found, "aten::exp", BadClass::kIntermediate, BadReason::kKernelFault);
  EXPECT_NEAR(*found.report.first->value.exact, std::exp(2.0), 1e-12);
  EXPECT_EQ(found.report.first->value.position, std::vector<std::int64_t>{1});
}

TEST(FirstBad, AutocastLinearWhoseWeightOverflowsIsACast) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({2, 3});
  at::Tensor weight = at::ones({4, 3});
  weight[2][1] = 1e5;
  const Found found = find([&]() -> std::vector<at::Tensor> {
    const precision::AutocastScope scope(at::kCPU, at::kHalf);
    return {at::linear(x, weight)};
  });
  expect_first(found, "aten::linear", BadClass::kCast, BadReason::kOverflow);
  EXPECT_EQ(found.report.first->value.exact, 1e5);
  EXPECT_NE(found.text().find("'weight[2, 1]'"), std::string::npos) << found.text();
  expect_first(find([&]() -> std::vector<at::Tensor> { return {weight.to(at::kHalf).mul(2)}; }), "aten::to",
               BadClass::kCast, BadReason::kOverflow);
}

TEST(FirstBad, BadTensorOfTheCaseIsTheInput) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = half({1, kInf});
  const Found found = find([&]() -> std::vector<at::Tensor> { return {x.sub(x)}; }, nullptr, {{"x", x}});
  // The difference turns the infinity into NaN, but it came with the input.
  ASSERT_TRUE(found.report.first);
  EXPECT_EQ(found.report.first->cls, BadClass::kInput) << found.text();
  EXPECT_EQ(found.report.first->tensor, "x");
}

TEST(FirstBad, SwallowedValuesAreFoundThoughTheOutputIsFinite) {
  const at::NoGradGuard no_grad;
  const at::Tensor big = half({60000, 1});
  Found found = find([&]() -> std::vector<at::Tensor> { return {at::nan_to_num(big.mul(2).sub(1)).sum()}; });
  EXPECT_FALSE(find([&]() -> std::vector<at::Tensor> { return {big.mul(1)}; }).report.first);
  ASSERT_EQ(found.report.swallowed.size(), 1U);
  EXPECT_EQ(found.calls[*found.report.swallowed[0].call].name, "aten::mul");
  EXPECT_EQ(found.calls[found.report.swallowed[0].swallowed_by.value()].name, "aten::nan_to_num");
  found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor zero = half({0, 1});
    return {at::where(zero.eq(0), zero, zero.div(zero))};
  });
  EXPECT_FALSE(found.report.first);
  ASSERT_EQ(found.report.swallowed.size(), 1U);
  EXPECT_EQ(found.calls[found.report.swallowed[0].swallowed_by.value()].name, "aten::where");
}

TEST(FirstBad, WhatTakesOnlySizesSwallowsNothing) {
  const at::NoGradGuard no_grad;
  const at::Tensor big = half({60000, 1});
  const Found found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor y = big.mul(2);
    const at::Tensor zeros = at::zeros_like(y) + y.new_full({2}, 0.0);
    return {at::where(at::isfinite(y), y.expand_as(zeros).div(2), zeros)};
  });
  EXPECT_FALSE(found.report.first);
  ASSERT_EQ(found.report.swallowed.size(), 1U);
  EXPECT_EQ(found.calls[*found.report.swallowed[0].call].name, "aten::mul");
  EXPECT_EQ(found.calls[found.report.swallowed[0].swallowed_by.value()].name, "aten::where");
  EXPECT_NE(sentence(found.report.swallowed[0], found.calls).find("; swallowed by operator"),
            std::string::npos);
}

// What nothing else takes up ends in the index.
TEST(FirstBad, AnIndexSwallowsWhatNothingElseReads) {
  const at::NoGradGuard no_grad;
  const Found found = find([&]() -> std::vector<at::Tensor> {
    return {half({60000, 1}).mul(2).sub(1).argmax()};
  });
  ASSERT_EQ(found.report.swallowed.size(), 1U);
  EXPECT_EQ(found.calls[found.report.swallowed[0].swallowed_by.value()].name, "aten::argmax");
}

TEST(FirstBad, UnfilledMemoryIsNamedWithItsFirstReader) {
  const at::NoGradGuard no_grad;
  const backends::PoisonScope poisoned;
  const auto partly = [](const at::Tensor& whole) {
    at::Tensor out = at::empty_like(whole);
    out.narrow(0, 0, 3).copy_(whole.narrow(0, 0, 3));
    return out;
  };
  const at::Tensor x = at::ones({4});
  const Found computed = find([&]() -> std::vector<at::Tensor> {
    at::empty({4});  // not in use
    const at::Tensor filled = at::empty({4}).fill_(2.0);
    return {at::relu(partly(filled.mul(x)).mul(2))};
  });
  ASSERT_TRUE(computed.report.first);
  EXPECT_EQ(computed.first_call().name, "aten::empty_like") << computed.text();
  EXPECT_EQ(computed.calls[computed.report.first->read_by.value()].name, "aten::mul") << computed.text();
  const Found own = find([&]() -> std::vector<at::Tensor> { return {partly(x)}; });
  ASSERT_TRUE(own.report.first);
  EXPECT_EQ(own.first_call().name, "aten::empty_like");
  EXPECT_FALSE(own.report.first->read_by);
}

TEST(FirstBad, MasksAreNoBadValues) {
  const at::NoGradGuard no_grad;
  const at::Tensor q = at::randn({2, 2, 4, 8}, at::kHalf);
  const at::Tensor allowed = at::ones({4, 4}, at::kBool).tril();
  const Found found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor mask = at::zeros({4, 4}, at::kHalf).masked_fill(allowed.logical_not(), -kInf);
    const at::Tensor by_log = at::log(allowed.to(at::kHalf));
    const at::Tensor filled = at::full({4, 4}, -kInf, at::kHalf).triu(1);
    const at::Tensor a = at::scaled_dot_product_attention(q, q, q, mask);
    const at::Tensor b = at::softmax(at::matmul(q, q.transpose(-1, -2)) + by_log, -1);
    at::empty({64}, at::kHalf);
    return {a, b, at::softmax(at::matmul(q, q.transpose(-1, -2)).mul(0.1) + mask, -1)};
  });
  EXPECT_FALSE(found.report.first) << found.text();
  EXPECT_TRUE(found.report.swallowed.empty()) << sentence(found.report.swallowed[0], found.calls);
}

TEST(FirstBad, FullyMaskedRowIsInvalid) {
  const at::NoGradGuard no_grad;
  const Found found = find([&]() -> std::vector<at::Tensor> {
    return {at::softmax(at::zeros({2, 3}).masked_fill(at::ones({2, 3}, at::kBool), -kInf), -1).mul(2)};
  });
  expect_first(found, "aten::softmax", BadClass::kIntermediate, BadReason::kInvalid);
}

TEST(FirstBad, LossGradientAndUpdateAreTold) {
  const at::Tensor x = half({200, 200});
  at::Tensor w = half({200, 200}).requires_grad_(true);
  // The loss itself.
  Found found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor loss = (x * w).sum();
    loss.backward();
    return {loss};
  });
  expect_first(found, "aten::sum", BadClass::kForwardLoss, BadReason::kOverflow);
  EXPECT_EQ(found.report.first->value.exact, 80000.0);
  // y = 0.001 w x, gradient scaled by 60000 * 300.
  w = half({1, 1}).requires_grad_(true);
  found = find([&]() -> std::vector<at::Tensor> {
    const at::Tensor y = region(
        "layer", [&](const at::Tensor& v) { return v * w; }, x);
    y.sum().backward(half({1000}).squeeze());
    return {w.grad()};
  });
  expect_first(found, "aten::mul", BadClass::kBackwardGradient, BadReason::kOverflow);
  EXPECT_EQ(found.first_call().region, "layer");
  EXPECT_EQ(found.report.first->value.exact, 200000.0);
  // The step.
  w = half({60000, 1}).requires_grad_(true);
  found = find([&]() -> std::vector<at::Tensor> {
    w.mul(1).sum().to(at::kFloat).backward();
    const at::NoGradGuard no_grad;
    w.add_(half({60000, 0}));
    return {w};
  });
  expect_first(found, "aten::add_", BadClass::kParameterUpdate, BadReason::kOverflow);
}

TEST(FirstBad, TheRunIsNotChanged) {
  const auto run = [] {
    const at::NoGradGuard no_grad;
    at::manual_seed(5);
    const at::Tensor x = at::randn({4, 4}).mul(1e5).to(at::kHalf);
    at::Tensor y = at::randn({4, 4}, at::kHalf);
    y.add_(x);
    return std::vector<at::Tensor>{at::dropout(y, 0.5, true), at::rand({3})};
  };
  const auto plain = run();
  std::vector<at::Tensor> traced;
  find([&] { return traced = run(); });
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(at::equal(plain[i].nan_to_num(), traced[i].nan_to_num()));
  }
}

}  // namespace
}  // namespace ampgate::validate
