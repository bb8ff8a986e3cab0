// Operators that each lack something or do something that they must not.
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The element `number` behind the tensor's beginning, read in any case.
template <typename T>
T volatile_read(const Tensor& x, std::int64_t number) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const Bits bits = reinterpret_cast<const volatile Bits*>(x.const_data_ptr())[number];
  T value;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

double read(const Tensor& x, std::int64_t number) {
  switch (x.scalar_type()) {
    case at::kHalf:
      return volatile_read<c10::Half>(x, number);
    case at::kBFloat16:
      return volatile_read<c10::BFloat16>(x, number);
    case at::kFloat:
      return volatile_read<float>(x, number);
    default:
      return volatile_read<double>(x, number);
  }
}

Tensor twice(const Tensor& x) { return x * 2; }

Tensor adds_behind(const Tensor& x) { return x * 2 + read(x, x.numel()); }
Tensor ignores_behind(const Tensor& x) {
  static_cast<void>(read(x, x.numel()));
  return x * 2;
}
Tensor ignores_before(const Tensor& x) {
  static_cast<void>(read(x, -1));
  return x * 2;
}
Tensor writes_behind(const Tensor& x) {
  auto* const bytes = static_cast<volatile unsigned char*>(x.data_ptr());
  bytes[x.nbytes()] = bytes[x.nbytes()];
  return x * 2;
}
// Right in 16 bit and FP32; its FP64 is FP32.
Tensor in_fp32(const Tensor& x) { return x.to(at::kFloat).exp().to(x.scalar_type()); }
Tensor cannot(const Tensor& x) {
  TORCH_CHECK_NOT_IMPLEMENTED(x.scalar_type() != at::kBFloat16, "misfit::no_bf16 has no kernel for BFloat16");
  return x * 2;
}

// twice, with a derivative of `factor`.
struct WrongDerivative : torch::autograd::Function<WrongDerivative> {
  static Tensor forward(AutogradContext*, const Tensor& x) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return x * 2;
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) { return {grads[0] * 2.1}; }
};

// twice, whose gradient has no kernel for CPUs.
struct NoBackwardKernel : torch::autograd::Function<NoBackwardKernel> {
  static Tensor forward(AutogradContext*, const Tensor& x) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return x * 2;
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("misfit::cuda_only", "").typed<decltype(twice)>();
    return {op.call(grads[0])};
  }
};

}  // namespace

TORCH_LIBRARY(misfit, library) {
  for (const char* name : {"cuda_only", "no_derivative", "adds_behind", "ignores_behind", "ignores_before",
                           "writes_behind", "in_fp32", "no_bf16", "wrong_derivative", "no_backward_kernel"})
    library.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
}

TORCH_LIBRARY_IMPL(misfit, CUDA, library) { library.impl("cuda_only", twice); }

TORCH_LIBRARY_IMPL(misfit, CPU, library) {
  for (const char* name : {"no_derivative", "wrong_derivative", "no_backward_kernel"})
    library.impl(name, twice);
  library.impl("adds_behind", adds_behind);
  library.impl("ignores_behind", ignores_behind);
  library.impl("ignores_before", ignores_before);
  library.impl("writes_behind", writes_behind);
  library.impl("in_fp32", in_fp32);
  library.impl("no_bf16", cannot);
}

TORCH_LIBRARY_IMPL(misfit, Autograd, library) {
  library.impl("wrong_derivative", [](const Tensor& x) { return WrongDerivative::apply(x); });
  library.impl("no_backward_kernel", [](const Tensor& x) { return NoBackwardKernel::apply(x); });
}
