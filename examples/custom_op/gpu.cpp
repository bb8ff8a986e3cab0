// The kernels for GPUs as operators. No header of a vendor: the same source serves CUDA's LibTorch and
// ROCm's.
#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include "bias_gelu_sum.h"
#include "gpu_kernels.h"

namespace example {
namespace {

gpu::Type type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return gpu::Type::kFloat;
    case at::kDouble:
      return gpu::Type::kDouble;
    case at::kHalf:
      return gpu::Type::kHalf;
    case at::kBFloat16:
      return gpu::Type::kBFloat16;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "bias_gelu_sum has no kernel for ", tensor.scalar_type());
  }
}

void* stream_of(const at::Tensor& tensor) {
  return at::accelerator::getCurrentStream(tensor.device().index()).native_handle();
}

void check_launched(const char* problem) {
  TORCH_CHECK(*problem == '\0', "bias_gelu_sum cannot be launched: ", problem);
}

}  // namespace

at::Tensor bias_gelu_sum_gpu(const at::Tensor& x, const at::Tensor& bias) {
  check(x, bias);
  const c10::DeviceGuard device(x.device());
  const at::Tensor rows = x.contiguous(), add = bias.contiguous();
  at::Tensor y = at::empty({x.size(0)}, x.options());
  check_launched(gpu::forward(type_of(x), rows.const_data_ptr(), add.const_data_ptr(), y.mutable_data_ptr(),
                              x.size(0), x.size(1), stream_of(x)));
  return y;
}

Gradients bias_gelu_sum_backward_gpu(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias) {
  check(x, bias);
  const c10::DeviceGuard device(x.device());
  const at::Tensor from = grad.contiguous(), rows = x.contiguous(), add = bias.contiguous();
  at::Tensor grad_x = at::empty_like(rows), grad_bias = at::empty_like(add);
  check_launched(gpu::backward(type_of(x), from.const_data_ptr(), rows.const_data_ptr(), add.const_data_ptr(),
                               grad_x.mutable_data_ptr(), grad_bias.mutable_data_ptr(), x.size(0), x.size(1),
                               stream_of(x)));
  return {grad_x, grad_bias};
}

}  // namespace example
