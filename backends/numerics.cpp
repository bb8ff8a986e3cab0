#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <array>
#include <cfenv>

#include "backends/settings.h"

namespace ampgate::backends {
namespace {

using at::CuBLASReductionOption;
using at::Float32Backend;
using at::Float32Op;
using at::Float32Precision;

constexpr std::array kOps{Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN};

bool reduced_precision(CuBLASReductionOption option) {
  return option == CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
}

bool split_k(CuBLASReductionOption option) {
  return option != CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK;
}

// LibTorch keeps an old flag and a new setting for TF32, and throws when they differ. Only the old setters
// write both; the new one then says IEEE where the old one would leave "none", which follows a wider setting.
void set_tf32(at::Context& context, bool matmul, bool convolution) {
  context.setAllowTF32CuBLAS(matmul);
  context.setAllowTF32CuDNN(convolution);
  if (convolution) return;
  context.setFloat32Precision(Float32Backend::CUDA, Float32Op::CONV, Float32Precision::IEEE);
  context.setFloat32Precision(Float32Backend::CUDA, Float32Op::RNN, Float32Precision::IEEE);
}

bool tf32(const at::Context& context, Float32Op op) {
  return context.float32Precision(Float32Backend::CUDA, op) == Float32Precision::TF32;
}

// What the scope does not set, and puts back all the same: a body that changes it must not change what the
// next trial runs with.
struct Switches {
  at::Context& context = at::globalContext();
  int threads = at::get_num_threads();
  bool deterministic = context.deterministicAlgorithms();
  bool deterministic_warns = context.deterministicAlgorithmsWarnOnly();
  bool deterministic_cudnn = context.deterministicCuDNN();
  bool deterministic_onednn = context.deterministicMkldnn();
  bool cudnn = context.userEnabledCuDNN();
  bool onednn = context.userEnabledMkldnn();
  bool attention_flash = context.userEnabledFlashSDP();
  bool attention_memory_efficient = context.userEnabledMemEfficientSDP();
  bool attention_math = context.userEnabledMathSDP();
  bool attention_cudnn = context.userEnabledCuDNNSDP();
  bool cpu_fp16_reduction = context.allowFP16ReductionCPU();
  bool grad_mode = c10::GradMode::is_enabled();
  int rounding = std::fegetround();
  caffe2::TypeMeta default_type = c10::get_default_dtype();

  void restore() const {
    c10::GradMode::set_enabled(grad_mode);
    std::fesetround(rounding);
    if (c10::get_default_dtype() != default_type) c10::set_default_dtype(default_type);
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
    context.setDeterministicAlgorithms(deterministic, deterministic_warns);
    context.setDeterministicCuDNN(deterministic_cudnn);
    context.setDeterministicMkldnn(deterministic_onednn);
    context.setUserEnabledCuDNN(cudnn);
    context.setUserEnabledMkldnn(onednn);
    context.setSDPUseFlash(attention_flash);
    context.setSDPUseMemEfficient(attention_memory_efficient);
    context.setSDPUseMath(attention_math);
    context.setSDPUseCuDNN(attention_cudnn);
    // Setting it throws on processors that lack the instructions, even to what it is.
    if (context.allowFP16ReductionCPU() != cpu_fp16_reduction)
      context.setAllowFP16ReductionCPU(cpu_fp16_reduction);
  }
};

}  // namespace

struct NumericsScope::Saved {
  Switches switches;
  at::Context& context = at::globalContext();
  bool tf32_matmul = tf32(context, Float32Op::MATMUL);
  bool tf32_convolution = tf32(context, Float32Op::CONV);
  std::array<Float32Precision, kOps.size()> onednn{};
  CuBLASReductionOption fp16_reduction = context.allowFP16ReductionCuBLAS();
  CuBLASReductionOption bf16_reduction = context.allowBF16ReductionCuBLAS();
  bool fp16_accumulation = context.allowFP16AccumulationCuBLAS();
  bool cudnn_benchmark = context.benchmarkCuDNN();
};

NumericsScope::NumericsScope(bool baseline, bool tf32) : saved_(std::make_unique<Saved>()) {
  at::Context& context = saved_->context;
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    saved_->onednn[i] = context.float32Precision(Float32Backend::MKLDNN, kOps[i]);
  }
  set_tf32(context, tf32, tf32);
  context.setBenchmarkCuDNN(false);  // it would choose kernels by time, differently in each process
  if (!baseline) return;
  for (const Float32Op op : kOps)
    context.setFloat32Precision(Float32Backend::MKLDNN, op, Float32Precision::IEEE);
  context.setAllowFP16ReductionCuBLAS(false, false);
  context.setAllowBF16ReductionCuBLAS(false, false);
  context.setAllowFP16AccumulationCuBLAS(false);
}

NumericsScope::~NumericsScope() {
  saved_->switches.restore();
  at::Context& context = saved_->context;
  set_tf32(context, saved_->tf32_matmul, saved_->tf32_convolution);
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    context.setFloat32Precision(Float32Backend::MKLDNN, kOps[i], saved_->onednn[i]);
  }
  context.setAllowFP16ReductionCuBLAS(reduced_precision(saved_->fp16_reduction),
                                      split_k(saved_->fp16_reduction));
  context.setAllowBF16ReductionCuBLAS(reduced_precision(saved_->bf16_reduction),
                                      split_k(saved_->bf16_reduction));
  context.setAllowFP16AccumulationCuBLAS(saved_->fp16_accumulation);
  context.setBenchmarkCuDNN(saved_->cudnn_benchmark);
  context.setFlushDenormal(false);
}

}  // namespace ampgate::backends
