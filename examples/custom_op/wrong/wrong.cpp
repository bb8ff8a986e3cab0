// The same operator, wrong in three ways that a test with a tolerance of a few percent lets pass. ampgate
// refuses each of them.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <torch/library.h>

#include "../bias_gelu_sum.h"
#include "../gelu.h"

namespace example::wrong {
namespace {

// Sums are kept in BF16, whatever the tensors' type: in FP64 as well.
struct InBf16 {
  template <typename T>
  static T row(const T* x, const T* bias, std::int64_t columns) {
    using Real = at::opmath_type<T>;
    c10::BFloat16 sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      const Real term = gelu(static_cast<Real>(x[j]) + static_cast<Real>(bias[j]));
      sum = static_cast<c10::BFloat16>(static_cast<float>(sum) + static_cast<float>(term));
    }
    return static_cast<T>(static_cast<float>(sum));
  }
};

// Sums are kept in the tensors' own type: right for FP64 and FP32, wrong for FP16 and BF16.
struct InOwnType {
  template <typename T>
  static T row(const T* x, const T* bias, std::int64_t columns) {
    using Real = at::opmath_type<T>;
    T sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      const Real term = gelu(static_cast<Real>(x[j]) + static_cast<Real>(bias[j]));
      sum = static_cast<T>(static_cast<Real>(sum) + term);
    }
    return sum;
  }
};

// The last tile is read as a whole and what is too much in it is multiplied by 0: right as long as there is
// memory behind the tensors, and neither NaN nor infinity in it.
struct WholeTiles {
  template <typename T>
  static T row(const T* x, const T* bias, std::int64_t columns) {
    using Real = at::opmath_type<T>;
    Real sum = 0;
    for (std::int64_t tile = 0; tile < columns; tile += kTile) {
      for (std::int64_t j = tile; j < tile + kTile; ++j) {
        const Real counts = j < columns ? 1 : 0;
        sum += counts * gelu(static_cast<Real>(x[j]) + static_cast<Real>(bias[j]));
      }
    }
    return static_cast<T>(sum);
  }
};

template <typename Rows>
at::Tensor bias_gelu_sum(const at::Tensor& x, const at::Tensor& bias) {
  const at::Tensor in = x.contiguous(), add = bias.contiguous();
  at::Tensor y = at::empty({x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "bias_gelu_sum", [&] {
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      y.mutable_data_ptr<scalar_t>()[i] =
          Rows::row(in.const_data_ptr<scalar_t>() + i * x.size(1), add.const_data_ptr<scalar_t>(), x.size(1));
    }
  });
  return y;
}

}  // namespace
}  // namespace example::wrong

TORCH_LIBRARY(example_wrong, library) {
  library.def("sum_in_bf16(Tensor x, Tensor bias) -> Tensor");
  library.def("sum_in_own_type(Tensor x, Tensor bias) -> Tensor");
  library.def("whole_tiles(Tensor x, Tensor bias) -> Tensor");
}

TORCH_LIBRARY_IMPL(example_wrong, CPU, library) {
  using namespace example::wrong;
  library.impl("sum_in_bf16", bias_gelu_sum<InBf16>);
  library.impl("sum_in_own_type", bias_gelu_sum<InOwnType>);
  library.impl("whole_tiles", bias_gelu_sum<WholeTiles>);
}
