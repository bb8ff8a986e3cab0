#include "backends/settings.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

namespace ampgate::backends {
namespace {

std::string value(const Fields& fields, const std::string& name) {
  for (const auto& [key, text] : fields) {
    if (key == name) return text;
  }
  return "absent";
}

// Settings belong to the process, so each of these tests applies them in a process of its own, started
// afresh, since LibTorch's threads don't survive a fork.
void expect_success_in_child(const std::function<int()>& body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(body()), testing::ExitedWithCode(0), "");
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::string failure_of(const ProcessSettings& settings) {
  try {
    apply(settings);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

long page_faults() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

TEST(Apply, ThreadsAffinityAndMallocAreRead) {
  expect_success_in_child([] {
    const int cpu = allowed_cpus().back();
    apply({.threads = 3,
           .affinity = {cpu},
           .mmap_threshold_bytes = 1 << 30,
           .trim_threshold_bytes = 2147483647,
           .huge_pages = false});
    const Fields fields = read_settings();
    if (value(fields, "transparent_huge_pages") != "off in this process") return 8;
    if (value(fields, "threads") != "3") return 1;
    if (value(fields, "threads_that_run") != "3") return 2;
    if (value(fields, "interop_threads") != "1") return 3;
    if (value(fields, "affinity") != std::to_string(cpu)) return 4;
    if (value(fields, "mmap_threshold_bytes") != "1073741824") return 5;
    if (value(fields, "trim_threshold_bytes") != "2147483647") return 6;
    return fields == read_settings() ? 0 : 7;
  });
}

long faults_of_four_calls(const ProcessSettings& settings) {
  apply(settings);
  const at::Tensor x = at::zeros({12 << 20});
  at::silu(x);
  const long before = page_faults();
  for (int i = 0; i < 4; ++i) at::silu(x);
  return page_faults() - before;
}

// As a library that was compiled with -ffast-math leaves it.
TEST(Apply, SubnormalsAreKeptAndRead) {
  expect_success_in_child([] {
    if (!at::globalContext().setFlushDenormal(true)) return 0;  // no such switch here
    if (value(read_settings(), "subnormals") != "flushed") return 1;
    apply({.threads = 1});
    if (value(read_settings(), "subnormals") != "kept") return 2;
    {
      const NumericsScope scope(true, false);
      at::globalContext().setFlushDenormal(true);
    }
    return value(read_settings(), "subnormals") == "kept" ? 0 : 3;
  });
}

// A variable of the environment that the children of this test start with.
class ChildVariable {
 public:
  ChildVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ChildVariable() { unsetenv(name_); }
  ChildVariable(const ChildVariable&) = delete;
  ChildVariable& operator=(const ChildVariable&) = delete;

 private:
  const char* name_;
};

// With glibc's defaults each result of 48 MiB is a mapping of its own: 12289 page faults a call. With fixed
// thresholds the heap keeps the memory. Without the tunable that takes up to 14 calls and as many times the
// memory: glibc before 2.38 keeps the small pieces that posix_memalign cuts off in the thread cache, where
// they part the large ones.
TEST(Apply, FixedMallocThresholdsEndPageFaults) {
  const ChildVariable tunables("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
  expect_success_in_child([] {
    const long faults =
        faults_of_four_calls({.mmap_threshold_bytes = 1 << 30, .trim_threshold_bytes = 2147483647});
    return faults < 20 ? 0 : 1;
  });
  expect_success_in_child([] { return faults_of_four_calls({}) > 4 * 10000 ? 0 : 1; });
}

TEST(Apply, RefusesWhatCannotBe) {
  expect_success_in_child([] {
    if (failure_of({.threads = 0}).find("at least 1 thread") == std::string::npos) return 1;
    if (failure_of({.affinity = {CPU_SETSIZE}}).find("there is no CPU") == std::string::npos) return 2;
    if (failure_of({.affinity = {allowed_cpus().front(), CPU_SETSIZE - 1}}).empty()) return 3;
    if (failure_of({.mmap_threshold_bytes = std::int64_t{1} << 31}).empty()) return 4;
    if (failure_of({.trim_threshold_bytes = -1}).empty()) return 5;
    return 0;
  });
}

TEST(NumericsScope, BaselineTurnsEverythingOffAndPutsItBack) {
  const Fields before = read_settings();
  EXPECT_EQ(value(before, "cuda_fp32_convolution"), "tf32");  // LibTorch's default
  {
    const NumericsScope scope(true, false);
    const Fields inside = read_settings();
    EXPECT_EQ(value(inside, "cuda_fp32_matmul"), "ieee");
    EXPECT_EQ(value(inside, "cuda_fp32_convolution"), "ieee");
    EXPECT_EQ(value(inside, "cuda_fp32_rnn"), "ieee");
    EXPECT_EQ(value(inside, "onednn_fp32_matmul"), "ieee");
    EXPECT_EQ(value(inside, "cublas_fp16_reduction"), "full");
    EXPECT_EQ(value(inside, "cublas_bf16_reduction"), "full");
    EXPECT_EQ(value(inside, "cudnn_benchmark"), "off");
    // The old getters throw when old flags and new settings differ.
    EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
    EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
  }
  EXPECT_EQ(value(read_settings(), "cuda_fp32_convolution"), "tf32");
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
  for (const char* name :
       {"cuda_fp32_rnn", "onednn_fp32_matmul", "onednn_fp32_convolution", "cublas_fp16_reduction",
        "cublas_bf16_reduction", "cublas_fp16_accumulation", "cudnn_benchmark"}) {
    EXPECT_EQ(value(read_settings(), name), value(before, name)) << name;
  }
}

TEST(NumericsScope, Tf32AppliesToProductsAndConvolutions) {
  const NumericsScope scope(false, true);
  const Fields inside = read_settings();
  EXPECT_EQ(value(inside, "cuda_fp32_matmul"), "tf32");
  EXPECT_EQ(value(inside, "cuda_fp32_convolution"), "tf32");
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
}

TEST(NumericsScope, TrialsKeepReducedPrecisionAndTurnTf32Off) {
  const NumericsScope scope(false, false);
  const Fields inside = read_settings();
  EXPECT_EQ(value(inside, "cublas_fp16_reduction"), "reduced");
  EXPECT_EQ(value(inside, "cuda_fp32_matmul"), "ieee");
  EXPECT_EQ(value(inside, "cuda_fp32_convolution"), "ieee");
}

TEST(NumericsScope, RestoresSettingsThatWereChanged) {
  at::Context& context = at::globalContext();
  context.setAllowFP16ReductionCuBLAS(false, true);
  context.setBenchmarkCuDNN(true);
  { const NumericsScope scope(true, false); }
  EXPECT_EQ(value(read_settings(), "cublas_fp16_reduction"), "full, split-k");
  EXPECT_EQ(value(read_settings(), "cudnn_benchmark"), "on");
  context.setAllowFP16ReductionCuBLAS(true, true);
  context.setBenchmarkCuDNN(false);
}

TEST(ReadLibtorch, KnowsItsBuild) {
  const Fields fields = read_libtorch();
  EXPECT_EQ(value(fields, "version").substr(0, 2), "2.");
  EXPECT_EQ(value(fields, "parallel_backend"), "OpenMP");
  EXPECT_NE(value(fields, "BUILD_TYPE"), "absent");
}

}  // namespace
}  // namespace ampgate::backends
