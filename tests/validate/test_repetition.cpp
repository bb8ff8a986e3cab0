// Unwritten memory, repetitions of the same call, and rows computed alone.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backends/poison_allocator.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/process_spread.h"
#include "validate/spread.h"
#include "validate/unwritten.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using results::Json;

bool is_oracle(const State& state) { return state[0].scalar_type() == at::kDouble; }

Json judge(const cases::Case& definition, const results::Rules& rules = {}) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.rules = rules;
  CaseRun run(cpu.session, definition, definition.shape({32, 24, 64}), false);
  return run.judge(precision::baseline());
}

// A copy that leaves the last `unwritten` elements as they come.
at::Tensor partial_copy(const at::Tensor& x, std::int64_t unwritten) {
  at::Tensor out = at::empty_like(x);
  const std::int64_t written = std::max<std::int64_t>(x.numel() - unwritten, 0);
  out.view(-1).narrow(0, 0, written).copy_(x.view(-1).narrow(0, 0, written));
  return out;
}

// Blocks of every size class of the allocator: small, from the heap, mapped by themselves (which come back as
// zeros).
TEST(Poison, ElementsLeftUnwrittenAreFoundInOutputsOfEverySize) {
  const at::NoGradGuard no_grad;
  for (const std::int64_t elements :
       {1LL, 3LL, 130LL, 4097LL, 65536LL, 1LL << 20, (16LL << 20) + 5, 64LL << 20}) {
    const at::Tensor x = at::ones({elements}, at::kHalf);
    for (const std::int64_t unwritten : {1LL, 128LL, 1024LL}) {
      if (unwritten > elements) continue;
      { const at::Tensor stale = x.clone(); }  // a right result in the block that comes next
      at::Tensor out;
      {
        const backends::PoisonScope poisoned;
        out = partial_copy(x, unwritten);
      }
      const Spread spread = spread_of({x}, {out});
      EXPECT_EQ(spread.differing, unwritten) << elements;
      const UnwrittenElements found = unwritten_elements({x, out});
      EXPECT_EQ(found.count, unwritten);
      EXPECT_EQ(found.elements, 2 * elements);
      EXPECT_EQ(found.output, 1U);
      EXPECT_EQ(found.first, elements - unwritten);
    }
  }
}

TEST(Poison, ReachesIntermediatesAndEndsWithTheScope) {
  const at::Tensor x = at::ones({40000});
  at::Tensor kept;
  {
    const backends::PoisonScope poisoned;
    EXPECT_TRUE(std::isnan((partial_copy(x, 1) + 1.0F)[39999].item<float>()));
    EXPECT_TRUE(at::equal(at::zeros({77}) + at::ones({77}), at::full({77}, 1.0)));
    EXPECT_TRUE(at::isnan(at::empty({100})).all().item<bool>());
    kept = x.clone();
  }
  kept.reset();  // freed after the scope
  at::Tensor block = at::empty({100}).zero_();
  block.reset();
  EXPECT_FALSE(at::isnan(at::empty({100})).all().item<bool>());
}

TEST(Repetition, ElementThatIsNeverWrittenIsNamed) {
  // The first run finds the right value there, as a block that was used before may hold it.
  static int calls;
  calls = 0;
  const Json body = judge(matmul_case([](State& state) -> Outputs {
    at::Tensor right = at::matmul(state[0], state[1]);
    if (is_oracle(state) || ++calls == 1) return {right};
    return {partial_copy(right, 1)};
  }));
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  const auto reason = body.at("reason").get<std::string>();
  EXPECT_NE(reason.find("1 of 768 elements are never written, the first of them out[31, 23]"),
            std::string::npos)
      << reason;
}

std::string reason_of(const Json& body) { return body.at("reason"); }

void expect_words(const Json& body, const std::vector<std::string>& words) {
  for (const auto& word : words) EXPECT_NE(reason_of(body).find(word), std::string::npos) << reason_of(body);
}

// The memory may hold the poison in the deciding run already: NaN in both runs is no difference.
TEST(Repetition, ElementThatIsNeverWrittenIsNamedWhateverTheDecidingRunFoundThere) {
  const Json body = judge(matmul_case([](State& state) -> Outputs {
    at::Tensor right = at::matmul(state[0], state[1]);
    return {is_oracle(state) ? right : partial_copy(right, 1)};
  }));
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  expect_words(body, {"1 of 768 elements are never written, the first of them out[31, 23]",
                      "operator 1, aten::empty_like"});
  const Json& first = body.at("explanation").at("first_bad");
  EXPECT_EQ(first.at("operator"), "aten::empty_like");
  EXPECT_FALSE(first.contains("read_by"));
}

TEST(Repetition, CaseThatLeavesElementsUnwrittenInFp64IsAtFault) {
  const Json body = judge(
      matmul_case([](State& state) -> Outputs { return {partial_copy(at::matmul(state[0], state[1]), 2)}; }));
  EXPECT_EQ(body.at("verdict"), "baseline-invalid");
  expect_words(body,
               {"the case itself is at fault: in FP64 2 of 768 elements are never written, the first of "
                "them out[31, 22]: operator 1, aten::empty_like, allocated it"});
}

// The outputs are written, from memory that is not.
template <bool kInOracle>
Outputs unwritten_intermediate(State& state) {
  at::Tensor left = state[0].clone();
  if (kInOracle || !is_oracle(state)) left = partial_copy(left, 1);
  return {at::matmul(left, state[1])};
}

TEST(Repetition, OutputThatDependsOnUnwrittenMemorySaysSo) {
  const Json body = judge(matmul_case(unwritten_intermediate<false>));
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  expect_words(body,
               {"24 of 768 elements depend on memory that was never written, the first of them out[31, 0]",
                "operator 1, aten::empty_like", "aten::matmul, computed with it"});
  const Json& first = body.at("explanation").at("first_bad");
  EXPECT_EQ(first.at("operator"), "aten::empty_like");
  EXPECT_EQ(first.at("read_by").at("operator"), "aten::matmul");
  const Json faulty = judge(matmul_case(unwritten_intermediate<true>));
  EXPECT_EQ(faulty.at("verdict"), "baseline-invalid");
  expect_words(faulty, {"in FP64 24 of 768 elements depend on memory that was never written",
                        "aten::empty_like, allocated it, and operator", "aten::matmul, computed with it"});
}

// One ULP at [0, 0] in call number `at`, or far more.
template <int kAt, bool kFar>
Outputs fault_at(State& state) {
  static int calls;
  at::Tensor out = at::matmul(state[0], state[1]);
  if (is_oracle(state)) {
    calls = 0;
    return {out};
  }
  if (++calls == kAt) {
    float& value = out.data_ptr<float>()[0];
    value = kFar ? value + 1.0F : std::nextafter(value, INFINITY);
  }
  return {out};
}

TEST(Repetition, SpreadWithinTheBoundIsAnAttribute) {
  const Json once = judge(matmul_case(fault_at<12, false>));
  EXPECT_EQ(once.at("verdict"), "pass");
  EXPECT_EQ(once.at("accuracy").at("repetition"), (Json{{"repeats", 3}, {"differing", 0}}));
  EXPECT_EQ(once.at("accuracy").at("repeatable_in_process"), true);

  results::Rules rules;
  rules.repeats = 29;
  const Json often = judge(matmul_case(fault_at<12, false>), rules);
  EXPECT_EQ(often.at("verdict"), "pass") << often.at("reason");
  const Json& repetition = often.at("accuracy").at("repetition");
  EXPECT_EQ(repetition.at("repeats"), 29);
  EXPECT_EQ(repetition.at("differing"), 1);
  EXPECT_EQ(repetition.at("elements_differing"), 1);
  EXPECT_EQ(repetition.at("elements"), 768);
  EXPECT_EQ(repetition.at("max_ulp"), 1);
  EXPECT_LE(repetition.at("worst_margin").get<double>(), 1.0);
  EXPECT_EQ(often.at("accuracy").at("repeatable_in_process"), false);
}

TEST(Repetition, SpreadOutsideTheBoundIsUnrepeatable) {
  results::Rules rules;
  rules.repeats = 29;
  const Json body = judge(matmul_case(fault_at<12, true>), rules);
  EXPECT_EQ(body.at("verdict"), "unrepeatable");
  EXPECT_NE(body.at("reason").get<std::string>().find("1 of 29 repetitions"), std::string::npos)
      << body.at("reason");
  EXPECT_GT(body.at("accuracy").at("repetition").at("worst_margin").get<double>(), 1.0);
}

TEST(Repetition, OutputThatALaterCallChangesIsUnrepeatable) {
  static at::Tensor buffer;  // of the inputs `seen`
  static at::Tensor seen;
  seen.reset();
  const Json body = judge(matmul_case([](State& state) -> Outputs {
    at::Tensor out = at::matmul(state[0], state[1]);
    if (is_oracle(state)) return {out};
    if (seen.defined() && at::equal(seen, state[0])) {
      buffer.view(-1)[5] = std::nextafter(buffer.view(-1)[5].item<float>(), INFINITY);
    } else {
      buffer = out.clone();
      seen = state[0].clone();
    }
    return {buffer};
  }));
  EXPECT_EQ(body.at("verdict"), "unrepeatable") << body.at("reason");
}

template <int kUlps>
Outputs another_kernel_for_one_row(State& state) {
  at::Tensor out = at::zeros({state[0].size(0), state[1].size(1)}, state[0].options());
  // Sums in one fixed order, whatever the number of rows.
  for (std::int64_t k = 0; k < state[0].size(1); ++k)
    out += state[0].narrow(1, k, 1) * state[1].narrow(0, k, 1);
  const bool is_oracle = state[0].scalar_type() == at::kDouble;
  if (!is_oracle && state[0].size(0) == 1) out *= 1.0 + std::ldexp(kUlps, -23);
  return {out};
}

TEST(Batch, RowsAloneAreComparedWithTheBatch) {
  const Json same = judge(matmul_case(another_kernel_for_one_row<0>)).at("accuracy");
  EXPECT_EQ(same.at("batch_invariant"), true);
  EXPECT_EQ(same.at("batch"), (Json{{"output_dim", 0}, {"rows", 3}}));

  const Json near = judge(matmul_case(another_kernel_for_one_row<1>));
  EXPECT_EQ(near.at("accuracy").at("batch_invariant"), false);
  EXPECT_GT(near.at("accuracy").at("batch").at("elements_differing").get<int>(), 36);
  EXPECT_LE(near.at("accuracy").at("batch").at("max_ulp").get<int>(), 2);
  EXPECT_EQ(near.at("verdict"), "pass");
  EXPECT_TRUE(near.at("findings").empty()) << near.at("findings");

  // Wrong only for a batch of one, which this trial is not: a finding.
  const Json far = judge(matmul_case(another_kernel_for_one_row<4000>));
  EXPECT_EQ(far.at("verdict"), "pass");
  EXPECT_GT(far.at("accuracy").at("batch").at("worst_margin").get<double>(), 1.0);
  ASSERT_EQ(far.at("findings").size(), 1U);
  EXPECT_NE(far.at("findings")[0].at("text").get<std::string>().find("computed alone"), std::string::npos);
}

TEST(ProcessSpread, CountsWhatDiffersAndWhatIsOutside) {
  const cases::Case definition = matmul_case(fault_at<0, false>);
  const at::Tensor out = at::arange(6, at::kFloat).view({2, 3});
  const Json checks = {{{"output", "out"},
                        {"positions", {0, 2, 4, 5}},
                        {"low", {0.0, 1.5, 4.5, "nan"}},
                        {"high", {0.0, 2.5, 5.5, "nan"}},
                        {"values", {0.0, 1.75, 5.0, "nan"}}}};
  const Json spread = process_spread(definition, {out}, checks);
  EXPECT_EQ(spread.at("positions"), 4);
  EXPECT_EQ(spread.at("differing"), 3);
  EXPECT_EQ(spread.at("outside"), 2);
  EXPECT_EQ(spread.at("max_abs_difference"), "inf");
  EXPECT_EQ(spread.at("place"), "out[1, 1] is 4, allowed from 4.5 to 5.5");
}

TEST(Spread, OtherSizesAndTypesDifferThroughout) {
  const at::Tensor x = at::ones({3, 4});
  for (const at::Tensor& other : {at::ones({4, 3}), at::ones({3, 4}, at::kHalf)}) {
    EXPECT_EQ(spread_of({x}, {other}).differing, 12);
    EXPECT_EQ(spread_of({x}, {other}).max_abs_difference, INFINITY);
  }
  EXPECT_EQ(spread_of({x}, {x.clone()}).differing, 0);
  EXPECT_EQ(spread_of({at::arange(5)}, {at::arange(5)}).differing, 0);
  EXPECT_EQ(spread_of({at::arange(5)}, {at::arange(5) * 2}).differing, 4);
  EXPECT_EQ(spread_of({at::arange(5)}, {at::arange(5) * 2}).max_abs_difference, 4.0);
  EXPECT_EQ(spread_of({at::zeros({5})}, {-at::zeros({5})}).differing, 5);
  EXPECT_EQ(spread_of({at::zeros({5})}, {-at::zeros({5})}).max_ulp, 0);
}

}  // namespace
}  // namespace ampgate::validate
