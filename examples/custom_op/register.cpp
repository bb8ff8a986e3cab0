// What LibTorch's dispatcher learns: schemas, a kernel for each device, one for sizes alone, and the
// derivative.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "bias_gelu_sum.h"

namespace example {

void check(const at::Tensor& x, const at::Tensor& bias) {
  TORCH_CHECK(x.dim() == 2 && bias.dim() == 1 && bias.sym_size(0) == x.sym_size(1),
              "bias_gelu_sum takes x (rows, ", "columns) and bias (columns), not ", x.sym_sizes(), " and ",
              bias.sym_sizes());
  TORCH_CHECK(x.is_floating_point() && x.scalar_type() == bias.scalar_type(),
              "bias_gelu_sum takes two tensors of one floating type, not ", x.scalar_type(), " and ",
              bias.scalar_type());
  TORCH_CHECK(x.device() == bias.device(), "bias_gelu_sum takes two tensors of one device, not of ",
              x.device(), " and ", bias.device());
}

namespace {

at::Tensor bias_gelu_sum_meta(const at::Tensor& x, const at::Tensor& bias) {
  check(x, bias);
  return x.new_empty_symint({x.sym_size(0)});
}

Gradients bias_gelu_sum_backward_meta(const at::Tensor& /*grad*/, const at::Tensor& x,
                                      const at::Tensor& bias) {
  return {x.new_empty_symint(x.sym_sizes()), bias.new_empty_symint(bias.sym_sizes())};
}

at::Tensor call_forward(const at::Tensor& x, const at::Tensor& bias) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("example::bias_gelu_sum", "")
                             .typed<decltype(call_forward)>();
  return op.call(x, bias);
}

Gradients call_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("example::bias_gelu_sum_backward", "")
                             .typed<decltype(call_backward)>();
  return op.call(grad, x, bias);
}

class BiasGeluSum : public torch::autograd::Function<BiasGeluSum> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& bias) {
    const at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, bias});
    return call_forward(x, bias);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const auto [grad_x, grad_bias] = call_backward(grads[0], saved[0], saved[1]);
    return {grad_x, grad_bias};
  }
};

at::Tensor bias_gelu_sum_autograd(const at::Tensor& x, const at::Tensor& bias) {
  return BiasGeluSum::apply(x, bias);
}

}  // namespace
}  // namespace example

TORCH_LIBRARY(example, library) {
  library.def("bias_gelu_sum(Tensor x, Tensor bias) -> Tensor");
  library.def(
      "bias_gelu_sum_backward(Tensor grad, Tensor x, Tensor bias) -> (Tensor grad_x, Tensor grad_bias)");
}

TORCH_LIBRARY_IMPL(example, CPU, library) {
  library.impl("bias_gelu_sum", example::bias_gelu_sum_cpu);
  library.impl("bias_gelu_sum_backward", example::bias_gelu_sum_backward_cpu);
}

#ifdef EXAMPLE_GPU
TORCH_LIBRARY_IMPL(example, CUDA, library) {  // ROCm's LibTorch calls its devices CUDA as well
  library.impl("bias_gelu_sum", example::bias_gelu_sum_gpu);
  library.impl("bias_gelu_sum_backward", example::bias_gelu_sum_backward_gpu);
}
#endif

TORCH_LIBRARY_IMPL(example, Meta, library) {
  library.impl("bias_gelu_sum", example::bias_gelu_sum_meta);
  library.impl("bias_gelu_sum_backward", example::bias_gelu_sum_backward_meta);
}

TORCH_LIBRARY_IMPL(example, Autograd, library) {
  library.impl("bias_gelu_sum", example::bias_gelu_sum_autograd);
}
