#include "bench/growth.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/inference_body.h"

namespace ampgate::bench {
namespace {

// So slow that a stretch is a single call, and keeping `kept` bytes in each of its first `keeping` calls.
struct SlowBody {
  static inline std::size_t kept = 0;
  static inline int keeping = 0;
  static inline int calls = 0;

  static cases::Outputs run(cases::State& state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(26));
    if (calls++ < keeping) {
      void* volatile block = std::malloc(kept);
      static_cast<void>(block);
    }
    return {at::add(state[0], state[0])};
  }
};

Growth growth_of_slow_body(std::size_t kept, int keeping) {
  const at::NoGradGuard no_grad;
  const auto backend = backends::open("cpu");
  SlowBody::kept = kept;
  SlowBody::keeping = keeping;
  SlowBody::calls = 0;
  cases::Case definition;
  definition.run = SlowBody::run;
  definition.outputs = {"out"};
  cases::State state{{{"x", at::ones({64})}}};
  InferenceBody body(definition, state, precision::baseline(), c10::kCPU);
  return measure_growth(body, *backend);
}

TEST(Growth, FewCallsThatFillMallocsCachesAreNoLeak) {
  EXPECT_FALSE(growth_of_slow_body(330, 100).malloc_leaks) << "as in seven chunks of a thread's cache";
}

TEST(Growth, FewCallsThatKeepMoreThanCachesHoldAreALeak) {
  const Growth growth = growth_of_slow_body(100'000, 100);
  EXPECT_TRUE(growth.malloc_leaks);
  EXPECT_GE(growth.malloc_bytes_per_call(), 100'000);
  EXPECT_FALSE(growth_of_slow_body(100'000, 3).malloc_leaks) << "it has an end";
}

}  // namespace
}  // namespace ampgate::bench
