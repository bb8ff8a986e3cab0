// The self-test itself: a table that leaves nothing open, faulty kernels that do what they say, and faults
// that reach the runs they are meant for and no others.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "session.h"
#include "validate/selftest/expectations.h"
#include "validate/selftest/faulty_case.h"
#include "validate/selftest/selftest.h"

namespace ampgate::validate::selftest {
namespace {

// What the operator `name` gives for `inputs` with the fault of that kind, in cast precisions.
template <typename Function>
at::Tensor faulty(const std::string& kind, Function&& run) {
  class One : public Interceptor {
   public:
    explicit One(const Kernel& kernel) : kernel_(kernel) {}
    void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
      Call call(op, Arguments(stack.begin(), stack.end()), 0, 1);
      const at::Tensor result = kernel_(call);
      stack.assign({result.defined() ? result : call.right()});
    }

   private:
    const Kernel& kernel_;
  };
  One one(faults().at(kind).kernel);
  const FaultScope scope(one);
  return run();
}

TEST(SelfTestTable, LeavesNothingOpen) {
  std::set<std::string> names_seen;
  for (const auto& kind : kinds()) {
    EXPECT_TRUE(names_seen.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(faults().contains(kind.name)) << kind.name;
    ASSERT_FALSE(kind.lines.empty()) << kind.name;
    EXPECT_EQ(kind.lines.back().where, "*") << kind.name;
    EXPECT_EQ(kind.lines.back().types, "*") << kind.name;
    for (const auto& line : kind.lines) {
      EXPECT_EQ(line.reason.empty(), line.expectation == Expectation::kMustCatch) << kind.name;
    }
  }
  EXPECT_EQ(names_seen.size(), faults().size());
  EXPECT_GE(names_seen.size(), 40u);
}

TEST(SelfTestTable, TheFirstLineThatFitsDecides) {
  const auto of = [](const char* kind, Subject subject, c10::ScalarType type) {
    const auto found =
        std::find_if(kinds().begin(), kinds().end(), [&](const Kind& k) { return k.name == kind; });
    return expected(*found, subject, type).expectation;
  };
  const Subject linear{{"linear"}, false}, softmax{{"softmax"}, false}, model{{"linear", "relu"}, true};
  EXPECT_EQ(of("flip-mantissa-23", linear, at::kFloat), Expectation::kMustCatch);
  EXPECT_EQ(of("flip-mantissa-23", softmax, at::kFloat), Expectation::kMayMiss);
  EXPECT_EQ(of("flip-mantissa-23", model, at::kFloat), Expectation::kMayMiss);
  EXPECT_EQ(of("flip-mantissa-23", linear, at::kHalf), Expectation::kNotApplicable);
  EXPECT_EQ(of("dropped-k-block", model, at::kHalf), Expectation::kMustCatch);
  EXPECT_EQ(of("attention-scale", model, at::kHalf), Expectation::kNotApplicable);
  EXPECT_TRUE(names("sum mean cumsum", "mean"));
  EXPECT_FALSE(names("cumsum", "sum"));
}

TEST(SelfTestFaults, BitsAndRounding) {
  const at::Tensor one = at::full({4}, 1.0, at::kHalf);
  const auto doubled = [&] { return one + one; };
  EXPECT_EQ(faulty("flip-sign", doubled).to(at::kDouble).sum().item<double>(), 3 * 2.0 - 2.0);
  EXPECT_EQ(faulty("flip-mantissa-1", doubled).max().item<double>(), 3.0);
  EXPECT_EQ(faulty("flip-mantissa-10", doubled).max().item<double>(), 2.0 + 0x1p-9);
  EXPECT_TRUE(std::isinf(faulty("flip-exponent-1", [&] { return one * one; }).max().item<double>()) ||
              faulty("flip-exponent-1", [&] { return one * one; }).min().item<double>() < 1e-3);
  // 1 + 3/4 of a unit in the last place: rounded up, truncated down.
  const at::Tensor left = at::full({2}, 1.0 + 0x1p-10, at::kHalf),
                   right = at::full({2}, 1.0 - 0x1p-11 * 0.5, at::kHalf);
  const at::Tensor product = left * right;
  EXPECT_GE(product.min().item<double>(),
            faulty("truncated", [&] { return left * right; }).max().item<double>());
  // Half a unit above an even value: a tie.
  const at::Tensor tie = at::full({1}, 1.0 + 0x1p-10, at::kHalf) + at::full({1}, 0x1p-11, at::kHalf);
  EXPECT_EQ(tie.item<double>(), 1.0 + 0x1p-9);
  const at::Tensor first = at::full({1}, 1.0, at::kHalf), half_a_unit = at::full({1}, 0x1p-11, at::kHalf);
  const auto even_tie = [&] { return first + half_a_unit; };
  EXPECT_EQ(even_tie().item<double>(), 1.0);
  EXPECT_EQ(faulty("ties-away", even_tie).item<double>(), 1.0 + 0x1p-10);
}

TEST(SelfTestFaults, ProductsAndSums) {
  // 1 + 2^-11 + 2^-12 needs thirteen bits: TF32 rounds it to 1 + 2^-10.
  const at::Tensor x = at::full({1, 1}, 1.0 + 0x1p-11 + 0x1p-12), one = at::ones({1, 1});
  EXPECT_EQ(faulty("tf32-operands", [&] { return at::mm(x, one); }).item<float>(), 1.0f + 0x1p-10f);
  // A sum of ones stops where the accumulator's spacing becomes two.
  const at::Tensor ones = at::ones({1, 3000}), column = ones.t(), short_ones = at::ones({1, 1028});
  EXPECT_EQ(faulty("accumulation-fp16", [&] { return at::sum(ones, 1); }).item<float>(), 2048.0f);
  EXPECT_EQ(faulty("accumulation-bf16", [&] { return at::sum(ones, 1); }).item<float>(), 256.0f);
  EXPECT_EQ(faulty("accumulation-bf16", [&] { return at::mean(ones, 1); }).item<float>(),
            static_cast<float>(256.0 / 3000.0));
  EXPECT_EQ(faulty("dropped-k-block", [&] { return at::mm(ones, column); }).item<float>(), 2625.0f);
  EXPECT_EQ(faulty("k-block-twice", [&] { return at::mm(ones, column); }).item<float>(), 3375.0f);
  // Four partial sums of 257, each stored as 256 in BF16.
  EXPECT_EQ(faulty("split-k-16-bit", [&] { return at::sum(short_ones, 1); }).item<float>(), 1024.0f);
}

TEST(SelfTestFaults, NormsSoftmaxAndAttention) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f, 6.0f}).view({1, 4}), weight = at::full({4}, 2.0f),
                   zeros = at::zeros({4});
  const auto norm = [&] { return at::layer_norm(x, {4}, weight, zeros, 1e-5); };
  const at::Tensor centred = x - 3.0;
  EXPECT_TRUE(
      at::allclose(faulty("n-minus-one", norm), 2.0 * centred / std::sqrt(14.0 / 3.0 + 1e-5), 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(faulty("weight-ignored", norm), centred / std::sqrt(3.5 + 1e-5), 1e-6, 1e-7));
  const at::Tensor far = at::full({1, 64}, 1e4f) + at::arange(64).remainder(2) * 0.001f;
  const auto far_norm = [&] { return at::layer_norm(far, {64}, {}, {}, 0.0); };
  EXPECT_GT((faulty("one-pass-variance", far_norm) - far_norm()).abs().nan_to_num(9.0).max().item<float>(),
            0.01f);
  const at::Tensor large = at::tensor({100.0f, 100.0f});
  EXPECT_TRUE(faulty("no-max-subtraction", [&] { return at::softmax(large, 0); }).isnan().all().item<bool>());
  const at::Tensor q = at::ones({1, 1, 1, 4}), k = at::eye(3, 4).view({1, 1, 3, 4}),
                   v = at::arange(12).view({1, 1, 3, 4}) * 1.0f;
  const auto attention = [&] { return at::scaled_dot_product_attention(q, k, v); };
  const at::Tensor first_two = v.narrow(2, 0, 2).mean(2, true);
  EXPECT_TRUE(at::allclose(faulty("attention-key-dropped", attention), first_two, 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(faulty("attention-causal", attention), v.narrow(2, 0, 1), 1e-6, 1e-7));
}

cases::Outputs multiply(cases::State& state) { return {at::matmul(state[0], state[1])}; }

TEST(SelfTestFaults, ReachTheirPrecisionAlone) {
  const cases::Case original = matmul_case(multiply);
  const cases::Case copy = faulty_copy(original);
  const auto state = [](c10::ScalarType type) {
    return cases::State{{{"a", at::ones({8, 8}, type)}, {"b", at::ones({8, 8}, type)}}};
  };
  const auto result = [&](c10::ScalarType type) {
    cases::State inputs = state(type);
    return copy.run(inputs)[0].to(at::kDouble).sum().item<double>();
  };
  EXPECT_EQ(result(at::kHalf), 512.0);
  const ActiveFault active(faults().at("all-zeros"), "*", -1, precision::find("cast-fp16"), 8, 1);
  EXPECT_EQ(result(at::kHalf), 0.0);
  EXPECT_EQ(result(at::kFloat), 512.0);
  EXPECT_EQ(result(at::kBFloat16), 512.0);
  EXPECT_EQ(result(at::kDouble), 512.0);
  EXPECT_EQ(active.trace().runs, 1);
  EXPECT_TRUE(active.trace().effect);
  EXPECT_TRUE(active.trace().peers.one_percent);
}

TEST(SelfTest, CatchesWhatMustBeCaughtInAMatmul) {
  const CpuSession cpu;
  const cases::Case definition = matmul_case(multiply);
  SelfTest test(cpu.session, definition, definition.shape({33, 17, 40}),
                {&precision::find("fp32"), &precision::find("cast-bf16")}, {.deep = false, .clean_seeds = 3});
  std::int64_t must = 0;
  for (const char* precision : {"fp32", "cast-bf16"}) {
    const auto body = test.judge(precision::find(precision));
    ASSERT_TRUE(body.contains("faults")) << body.dump();
    for (const auto& fault : body.at("faults")) {
      EXPECT_NE(fault.at("outcome"), "broken") << fault.dump();
      if (fault.at("kind") == "all-zeros") {
        EXPECT_EQ(fault.at("caught_by")[0].at("input"), "ordinary") << fault.dump();
      }
      if (fault.at("expectation") != "must-catch" || fault.at("outcome") == "not-put-in") continue;
      EXPECT_EQ(fault.at("outcome"), "caught") << fault.dump();
      ++must;
    }
    EXPECT_EQ(body.at("clean").at("false_alarms"), 0);
    EXPECT_EQ(body.at("clean").at("trials"), 3);
  }
  EXPECT_GE(must, 40);
}

}  // namespace
}  // namespace ampgate::validate::selftest
