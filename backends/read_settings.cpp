#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <sched.h>
#include <sys/prctl.h>

#include <array>
#include <cfenv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "backends/process_settings.h"
#include "backends/settings.h"

namespace ampgate::backends {
namespace {

// Variables that change results or speed of LibTorch and of the libraries below it. A variable that is not
// set is not listed.
constexpr std::array kVariables{"OMP_NUM_THREADS",
                                "OMP_THREAD_LIMIT",
                                "OMP_DYNAMIC",
                                "OMP_WAIT_POLICY",
                                "OMP_PROC_BIND",
                                "OMP_PLACES",
                                "OMP_SCHEDULE",
                                "GOMP_SPINCOUNT",
                                "GOMP_CPU_AFFINITY",
                                "KMP_AFFINITY",
                                "KMP_BLOCKTIME",
                                "MKL_NUM_THREADS",
                                "MKL_DYNAMIC",
                                "MKL_CBWR",
                                "MKL_ENABLE_INSTRUCTIONS",
                                "MKL_THREADING_LAYER",
                                "ONEDNN_MAX_CPU_ISA",
                                "ONEDNN_CPU_ISA_HINTS",
                                "ONEDNN_DEFAULT_FPMATH_MODE",
                                "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
                                "DNNL_MAX_CPU_ISA",
                                "DNNL_DEFAULT_FPMATH_MODE",
                                "ATEN_CPU_CAPABILITY",
                                "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                "NVIDIA_TF32_OVERRIDE",
                                "CUBLAS_WORKSPACE_CONFIG",
                                "CUBLASLT_WORKSPACE_SIZE",
                                "CUBLAS_EMULATION_STRATEGY",
                                "CUBLAS_EMULATE_SINGLE_PRECISION",
                                "CUBLAS_EMULATE_DOUBLE_PRECISION",
                                "CUDA_VISIBLE_DEVICES",
                                "CUDA_LAUNCH_BLOCKING",
                                "PYTORCH_ALLOC_CONF",
                                "PYTORCH_CUDA_ALLOC_CONF",
                                "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                "PYTORCH_TUNABLEOP_ENABLED",
                                "HIP_VISIBLE_DEVICES",
                                "ROCR_VISIBLE_DEVICES",
                                "HIPBLASLT_ALLOW_TF32",
                                "MIOPEN_FIND_MODE",
                                "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL",
                                "GLIBC_TUNABLES",
                                "MALLOC_ARENA_MAX",
                                "MALLOC_MMAP_THRESHOLD_",
                                "MALLOC_TRIM_THRESHOLD_",
                                "MALLOC_TOP_PAD_",
                                "LD_PRELOAD",
                                "THP_MEM_ALLOC_ENABLE"};

std::string yes_no(bool value) { return value ? "on" : "off"; }

std::string affinity() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "not readable";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &cpus))
      text += (text.empty() ? "" : ",") + std::to_string(cpu);
  }
  return text;
}

// The mode in brackets of "always [madvise] never", unless this process has them off.
std::string transparent_huge_pages() {
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) return "off in this process";
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "not readable";
  return line.substr(begin + 1, end - begin - 1);
}

std::string bytes_or_default(const std::optional<std::int64_t>& bytes) {
  return bytes ? std::to_string(*bytes) : "glibc's default";
}

std::string mmap_threshold() {
  const std::string set = bytes_or_default(malloc_settings().mmap_threshold_bytes);
  return mmap_threshold_in_force() ? set : set + " was set, another one is in force";
}

std::string reduction(at::CuBLASReductionOption option) {
  switch (option) {
    case at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK:
      return "reduced";
    case at::CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK:
      return "full, split-k";
    case at::CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK:
      return "full";
  }
  return "unknown";
}

// On this thread: half of the smallest normal number is none where the processor flushes.
bool keeps_subnormals() {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = smallest * 0.5f;
  return half != 0.0f;
}

void add_numerics(Fields& fields) {
  using enum at::Float32Backend;
  using enum at::Float32Op;
  const at::Context& context = at::globalContext();
  const auto precision = [&](at::Float32Backend backend, at::Float32Op op) {
    return at::precision2str(context.float32Precision(backend, op));
  };
  fields.emplace_back("cuda_fp32_matmul", precision(CUDA, MATMUL));
  fields.emplace_back("cuda_fp32_convolution", precision(CUDA, CONV));
  fields.emplace_back("cuda_fp32_rnn", precision(CUDA, RNN));
  fields.emplace_back("onednn_fp32_matmul", precision(MKLDNN, MATMUL));
  fields.emplace_back("onednn_fp32_convolution", precision(MKLDNN, CONV));
  fields.emplace_back("onednn_fp32_rnn", precision(MKLDNN, RNN));
  fields.emplace_back("cublas_fp16_reduction", reduction(context.allowFP16ReductionCuBLAS()));
  fields.emplace_back("cublas_bf16_reduction", reduction(context.allowBF16ReductionCuBLAS()));
  fields.emplace_back("cublas_fp16_accumulation", yes_no(context.allowFP16AccumulationCuBLAS()));
  fields.emplace_back("cpu_fp16_reduction", yes_no(context.allowFP16ReductionCPU()));
  fields.emplace_back("cudnn", yes_no(context.userEnabledCuDNN()));
  fields.emplace_back("cudnn_benchmark", yes_no(context.benchmarkCuDNN()));
  fields.emplace_back("cudnn_deterministic", yes_no(context.deterministicCuDNN()));
  fields.emplace_back("onednn", yes_no(context.userEnabledMkldnn()));
  fields.emplace_back("onednn_deterministic", yes_no(context.deterministicMkldnn()));
  fields.emplace_back("deterministic_algorithms", yes_no(context.deterministicAlgorithms()));
  fields.emplace_back("attention_flash", yes_no(context.userEnabledFlashSDP()));
  fields.emplace_back("attention_memory_efficient", yes_no(context.userEnabledMemEfficientSDP()));
  fields.emplace_back("attention_math", yes_no(context.userEnabledMathSDP()));
  fields.emplace_back("attention_cudnn", yes_no(context.userEnabledCuDNNSDP()));
}

std::string rounding_words(int mode) {
  switch (mode) {
    case FE_UPWARD:
      return "upward";
    case FE_DOWNWARD:
      return "downward";
    case FE_TOWARDZERO:
      return "toward zero";
    default:
      return "unknown";
  }
}

// What is as everywhere is not named, so that records of before it was looked at fit.
void add_unusual(Fields& fields) {
  if (const int mode = std::fegetround(); mode != FE_TONEAREST)
    fields.emplace_back("rounding", rounding_words(mode));
  if (const auto type = c10::get_default_dtype_as_scalartype(); type != c10::kFloat)
    fields.emplace_back("default_dtype", c10::toString(type));
}

void add_thread_state(Fields& fields) {
  for (const auto& [name, device] : {std::pair{"cpu", c10::kCPU}, std::pair{"cuda", c10::kCUDA}}) {
    const bool enabled = at::autocast::is_autocast_enabled(device);
    fields.emplace_back(std::string("autocast_") + name,
                        enabled ? c10::toString(at::autocast::get_autocast_dtype(device)) : "off");
  }
  fields.emplace_back("autocast_cache", yes_no(at::autocast::is_autocast_cache_enabled()));
  fields.emplace_back("grad_mode", yes_no(c10::GradMode::is_enabled()));
  fields.emplace_back("inference_mode", yes_no(c10::InferenceMode::is_enabled()));
}

}  // namespace

Fields read_settings() {
  Fields fields{
      {"subnormals", keeps_subnormals() ? "kept" : "flushed"},
      {"threads", std::to_string(at::get_num_threads())},
      {"threads_that_run", std::to_string(threads_that_run())},
      {"interop_threads", std::to_string(at::get_num_interop_threads())},
      {"affinity", affinity()},
      {"mmap_threshold_bytes", mmap_threshold()},
      {"trim_threshold_bytes", bytes_or_default(malloc_settings().trim_threshold_bytes)},
      {"transparent_huge_pages", transparent_huge_pages()},
  };
  add_numerics(fields);
  add_thread_state(fields);
  add_unusual(fields);
  for (const char* variable : kVariables) {
    if (const char* value = std::getenv(variable)) fields.emplace_back(std::string("env_") + variable, value);
  }
  return fields;
}

}  // namespace ampgate::backends
