#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include "backends/backend.h"
#include "backends/cpu.h"
#include "backends/host_state.h"

namespace ampgate::backends {
namespace {

TEST(DeviceFacts, LastLevelCacheIsThatOfTheSystem) {
  const auto cache = open("cpu")->last_level_cache_bytes();
  EXPECT_GE(cache, 0);
  EXPECT_EQ(cache % 1024, 0);
  EXPECT_GE(cache, sysconf(_SC_LEVEL3_CACHE_SIZE)) << "what the processor says is the least";
}

TEST(DeviceFacts, PassesTouchEveryPage) {
  const auto backend = open("cpu");
  constexpr std::int64_t kBytes = std::int64_t{32} << 20;
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto passes = backend->memory_passes(kBytes);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  // 2 MiB a fault with huge pages.
  EXPECT_GE(after.ru_minflt - before.ru_minflt, kBytes >> 21);
  const auto time = [&](auto&& pass) {
    const auto begin = std::chrono::steady_clock::now();
    pass();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // No memory delivers a terabyte a second to one processor: a pass that the compiler left out would seem to.
  for (int run = 0; run < 3; ++run) {
    EXPECT_GT(time([&] { passes->read(); }), kBytes / 1e12 / at::get_num_threads());
    EXPECT_GT(time([&] { passes->write(); }), kBytes / 1e12 / at::get_num_threads());
    EXPECT_GT(time([&] { passes->copy(); }), kBytes / 2e12 / at::get_num_threads());
  }
}

TEST(DeviceFacts, PeaksGrowWithTheInstructionSet) {
  const int threads = at::get_num_threads();
  const auto rate = [](const std::string& isa, const std::string& format) {
    return cpu_peaks(isa).flops_per_s.at(format);
  };
  EXPECT_EQ(rate("fma avx2 avx512f", "fp32") / rate("fma avx2", "fp32"), 2.0);
  EXPECT_EQ(rate("avx512f avx512_bf16", "bf16") / rate("avx512f", "bf16"), 2.0);
  EXPECT_EQ(rate("avx512f", "fp16"), rate("avx512f", "fp32")) << "no FP16 arithmetic: products run in FP32";
  // Sapphire Rapids: 1024 operations a cycle and core in each 16-bit format (Intel, "Optimization Reference
  // Manual", chapter on AMX).
  EXPECT_EQ(rate("avx512f amx_bf16", "bf16") / rate("avx512f", "fp32"), 1024.0 / 64.0);
  EXPECT_GE(rate("avx512f", "fp32"), 1e9 * 64 * threads);
}

TEST(DeviceFacts, HostStateCountsWhatHappens) {
  const HostState before = host_state();
  EXPECT_GT(before.memory_available_bytes, 0);
  EXPECT_GE(before.run_delay_ns, 0);
  EXPECT_GT(before.turns, 0);
  const HostState after = host_state();
  EXPECT_GE(after.run_delay_ns, before.run_delay_ns);
  EXPECT_GE(after.steal_ns, before.steal_ns);
  EXPECT_GE(after.preemptions, before.preemptions);
}

}  // namespace
}  // namespace ampgate::backends
