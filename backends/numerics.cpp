#include <ATen/Context.h>

#include <array>

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

}  // namespace

struct NumericsScope::Saved {
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
}

}  // namespace ampgate::backends
