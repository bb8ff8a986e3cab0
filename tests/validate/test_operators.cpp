#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>
#include <gtest/gtest.h>

#include <thread>

#include "cases/operator_recorder.h"
#include "precision/autocast.h"
#include "validate/interceptor.h"

namespace ampgate::validate {
namespace {

using at::kFloat;
using at::kHalf;

std::vector<cases::OperatorRecord> operators_under_autocast(const at::Tensor& x, const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  cases::OperatorRecorder recorder;
  {
    const precision::AutocastScope scope(at::kCPU, kHalf);
    at::relu(at::relu(at::linear(x, weight)));
  }
  return recorder.take();
}

TEST(Inspection, TypesAreThoseBelowAutocast) {
  const auto operators = operators_under_autocast(at::ones({4, 8}), at::ones({3, 8}));
  const auto linear = std::find_if(operators.begin(), operators.end(),
                                   [](const auto& o) { return o.name == "aten::linear"; });
  ASSERT_NE(linear, operators.end());
  EXPECT_EQ(linear->inputs, (std::vector{kHalf, kHalf}));
  EXPECT_EQ(linear->outputs, std::vector{kHalf});
  EXPECT_EQ(std::count_if(operators.begin(), operators.end(),
                          [](const auto& o) { return o.name == "aten::linear"; }),
            1);
  EXPECT_TRUE(cases::computed_in(operators, kHalf));
}

TEST(Inspection, ConversionsAreNoComputation) {
  const at::NoGradGuard no_grad;
  cases::OperatorRecorder recorder;
  at::ones({4}).to(kHalf).view({2, 2});
  const auto operators = recorder.take();
  EXPECT_FALSE(operators.empty());
  EXPECT_FALSE(cases::computed_in(operators, kHalf));
  for (const auto& record : operators) EXPECT_NE(record.name, "aten::view");
}

TEST(Inspection, EqualNeighboursAreCounted) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({4});
  cases::OperatorRecorder recorder;
  x.exp();
  x.exp();
  const auto operators = recorder.take();
  ASSERT_EQ(operators.size(), 1U);
  EXPECT_EQ(operators[0].count, 2);
}

struct Counter : Interceptor {
  int calls = 0;
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    ++calls;
    op.callBoxed(stack);
  }
};

TEST(Interceptor, SeesCallsOfTheUserOnly) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::ones({4, 8});
  const at::Tensor weight = at::ones({3, 8});
  Counter counter;
  {
    const InterceptScope scope(counter);
    at::relu(at::linear(x, weight));  // linear calls t and addmm or mm by itself
    EXPECT_THROW(InterceptScope second(counter), std::logic_error);
  }
  EXPECT_EQ(counter.calls, 2);
  at::relu(x);
  EXPECT_EQ(counter.calls, 2);
}

// Backward of a GPU runs on a thread of autograd's, to which the caller's state is handed over like this.
TEST(Interceptor, SeesThreadsThatWorkForThisOne) {
  const at::Tensor x = at::ones({4, 8});
  Counter counter;
  const InterceptScope scope(counter);
  const at::ThreadLocalState state;
  std::thread([&] { at::relu(x); }).join();
  EXPECT_EQ(counter.calls, 0);
  std::thread([&] {
    const at::ThreadLocalStateGuard handed_over(state);
    at::relu(x);
  }).join();
  EXPECT_EQ(counter.calls, 1);
}

}  // namespace
}  // namespace ampgate::validate
