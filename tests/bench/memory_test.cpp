#include "bench/memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "bench/casts.h"
#include "bench/overhead.h"
#include "bench/peak.h"
#include "cases/execute.h"
#include "cases/fills.h"
#include "fake_case.h"

namespace ampgate::bench {
namespace {

using testing::behaviour;
using testing::Fault;

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { behaviour() = {}; }
  void TearDown() override { behaviour() = {}; }

  Memory of_fake(std::function<void(at::Tensor&)> act) {
    behaviour().fault = Fault::kAct;
    behaviour().act = std::move(act);
    cases::State state{{{"x", at::ones({1000})}}};
    InferenceBody body(testing::fake_case(), state, precision::baseline(), c10::kCPU);
    return measure_memory(body, *backend_);
  }
  // A registered case in a precision: its body, and what it owns.
  struct Prepared {
    cases::State state;
    InferenceBody body;
    Prepared(const cases::Case& definition, cases::State prepared, const precision::Precision& precision)
        : state(std::move(prepared)), body(definition, state, precision, c10::kCPU) {}
  };
  std::unique_ptr<Prepared> prepared(const char* name, const std::vector<std::int64_t>& sizes,
                                     const char* precision) {
    const auto& definition = cases::registry().at(name);
    const auto shape = definition.shape(sizes);
    const auto original = definition.setup(shape, cases::Fill(1, name, shape.name));
    const auto& found = precision::find(precision);
    return std::make_unique<Prepared>(definition, cases::prepare(original, found, c10::kCPU), found);
  }

  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
};

TEST_F(MemoryTest, AnHonestBodyKeepsNothing) {
  const auto memory = of_fake([](at::Tensor&) {});
  EXPECT_EQ(memory.problem, "");
  EXPECT_EQ(memory.peak_bytes, 4000);
  EXPECT_EQ(memory.output_bytes, 4000);
  EXPECT_EQ(memory.own.inputs, 4000);
  EXPECT_EQ(memory.own.weights, 0);
  EXPECT_EQ(memory.growth.allocator_bytes, 0);
  EXPECT_GE(memory.growth.calls, 6);
}

TEST_F(MemoryTest, ALeakOfTensorsIsNamed) {
  std::vector<at::Tensor> kept;
  const auto memory = of_fake([&](at::Tensor& output) { kept.push_back(output); });
  EXPECT_EQ(memory.problem.rfind("calls keep, in the mean, about 4000 bytes each of LibTorch's allocator", 0),
            0U)
      << memory.problem;
}

TEST_F(MemoryTest, ALeakOfMallocIsNamedTouchedOrNot) {
  for (const bool touched : {true, false}) {
    std::vector<void*> blocks;
    blocks.reserve(1 << 20);
    const auto memory = of_fake([&](at::Tensor&) {
      blocks.push_back(std::malloc(2000));
      if (touched) std::memset(blocks.back(), 1, 2000);
    });
    EXPECT_NE(memory.problem.find("bytes each of malloc that LibTorch's allocator was not asked for"),
              std::string::npos)
        << memory.problem;
    EXPECT_NEAR(memory.growth.malloc_bytes_per_call(), 2008, 32) << "with malloc's own words";
    for (void* block : blocks) std::free(block);
  }
}

TEST_F(MemoryTest, MappedMemoryThatIsKeptIsNamed) {
  constexpr std::size_t kBytes = 1 << 14;
  std::vector<void*> blocks;
  blocks.reserve(1 << 20);
  const auto memory = of_fake([&](at::Tensor&) {
    blocks.push_back(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(blocks.back(), 1, kBytes);
  });
  EXPECT_EQ(memory.problem.rfind("calls make the resident set grow, in the mean", 0), 0U) << memory.problem;
  for (void* block : blocks) munmap(block, kBytes);
}

TEST_F(MemoryTest, MemoryThatGrowsOnceIsNoLeak) {
  std::vector<at::Tensor> cache;
  const auto memory = of_fake([&](at::Tensor& output) {
    if (cache.size() < 40) cache.push_back(output);
  });
  EXPECT_EQ(memory.problem, "");
}

TEST_F(MemoryTest, APeakIsItsParts) {
  // Two matrices of 256 KiB each are cast to 128 KiB, and multiplied.
  const auto matmul = prepared("matmul", {256, 256, 256}, "autocast-bf16");
  run_calls(matmul->body, 2);
  const PeakParts parts = peak_parts(matmul->body, *backend_);
  EXPECT_EQ(parts.outputs, 256 * 256 * 2);
  EXPECT_EQ(parts.casts, 2 * 256 * 256 * 2);
  EXPECT_EQ(parts.intermediates, 0);
  std::int64_t sum = parts.outputs + parts.casts + parts.intermediates;
  for (const auto& [name, bytes] : parts.workspaces) {
    EXPECT_EQ(name, "aten::matmul");
    sum += bytes;
  }
  EXPECT_EQ(sum, parts.bytes);
  EXPECT_EQ(parts.bytes, measure_memory(matmul->body, *backend_).peak_bytes);
}

TEST_F(MemoryTest, ResultsThatLaterOperatorsTakeAreIntermediates) {
  const auto block = prepared("transformer_block", {2, 11, 32}, "fp32");
  run_calls(block->body, 2);
  const PeakParts parts = peak_parts(block->body, *backend_);
  EXPECT_GE(parts.intermediates, 2 * 11 * 4 * 32 * 4) << "what the first layer of the MLP gives";
  EXPECT_EQ(parts.casts, 0);
}

TEST_F(MemoryTest, OutputsThatAreTheInputsNeedNoMemory) {
  const cases::Case same{.name = "same",
                         .dims = {},
                         .suites = {},
                         .outputs = {"a", "b"},
                         .setup = nullptr,
                         .run = [](cases::State& state) -> cases::Outputs {
                           return {state[0].view({10, 100}), state[0]};
                         },
                         .facts = nullptr};
  cases::State state{{{"x", at::ones({1000})}}};
  InferenceBody body(same, state, precision::baseline(), c10::kCPU);
  const auto memory = measure_memory(body, *backend_);
  EXPECT_EQ(memory.output_bytes, 0);
  EXPECT_EQ(memory.peak_bytes, 0);
}

TEST_F(MemoryTest, CastsOfAutocastAreCounted) {
  const auto matmul = prepared("matmul", {256, 256, 256}, "autocast-bf16");
  run_calls(matmul->body, 1);
  const Casts casts = measure_casts(matmul->body, *backend_);
  EXPECT_EQ(casts.count, 2);
  ASSERT_GE(casts.shares.size(), 3U);
  for (const double share : casts.shares) {
    EXPECT_GT(share, 0.0);
    EXPECT_LT(share, 1.0);
  }
  const auto plain = prepared("matmul", {64, 64, 64}, "cast-bf16");
  EXPECT_EQ(measure_casts(plain->body, *backend_).count, 0);
  const auto kept = prepared("exp", {1000}, "autocast-bf16");
  EXPECT_EQ(measure_casts(kept->body, *backend_).count, 0) << "autocast leaves it in FP32";
}

TEST_F(MemoryTest, AnEmptyOperatorIsTimedInTheTrialsScope) {
  const auto timer = backend_->timer();
  for (const char* precision : {"fp32", "autocast-bf16", "cast-fp16"}) {
    const auto matmul = prepared("matmul", {8, 8, 8}, precision);
    const Overhead overhead = measure_overhead(matmul->body, 10, *timer);
    EXPECT_EQ(overhead.call_ns.size(), 3U);
    EXPECT_EQ(overhead.dispatch_ns.size(), 3U);
    for (const double ns : overhead.call_ns) EXPECT_GT(ns, 0.0);
    EXPECT_TRUE(overhead.host_ns.empty()) << "the host is the device";
  }
}

}  // namespace
}  // namespace ampgate::bench
