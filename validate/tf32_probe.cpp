#include "validate/tf32_probe.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <array>

#include "backends/settings.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

constexpr std::array<std::int64_t, 4> kSizes{1, 16, 96, 512};
constexpr double kProbe = 1.0 + 0x1p-11 + 0x1p-12;

std::string meaning(double value) {
  if (value == 1.0) return "truncated to TF32, or to BF16";
  if (value == 1.0 + 0x1p-10) return "rounded to TF32";
  return "neither FP32 nor TF32";
}

// Empty when every element is the probe.
std::string deviation(const at::Tensor& result, const std::string& where) {
  const at::Tensor values = result.to(at::kCPU, at::kDouble);
  const at::Tensor wrong = values.ne(kProbe);
  if (!wrong.any().item<bool>()) return {};
  const double value = values.masked_select(wrong)[0].item<double>();
  return where + " gives " + text(value) + " for 1.00073242 x 1 (" + meaning(value) + ")";
}

// One term of each sum is the probe times one, the others are zero.
at::Tensor first_column(std::int64_t rows, std::int64_t columns, double value, c10::Device device) {
  at::Tensor matrix = at::zeros({rows, columns}, at::TensorOptions(at::kFloat).device(device));
  matrix.select(1, 0).fill_(value);
  return matrix;
}

std::string in_products(const Fp32Operators& operators, c10::Device device) {
  for (const std::int64_t size : kSizes) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        const at::Tensor a = first_column(size, size, kProbe, device);
        const at::Tensor b = first_column(size, size, 1.0, device).t();
        // The same values in the other order of storage.
        const auto layout = [](const at::Tensor& matrix, bool transposed) {
          return transposed ? matrix.t().contiguous().t() : matrix.contiguous();
        };
        const auto found =
            deviation(operators.matmul(layout(a, a_transposed), layout(b, b_transposed)),
                      "matmul of " + std::to_string(size) + " x " + std::to_string(size) +
                          (a_transposed ? ", a transposed" : "") + (b_transposed ? ", b transposed" : ""));
        if (!found.empty()) return found;
      }
    }
  }
  return {};
}

std::string in_convolutions(const Fp32Operators& operators, c10::Device device) {
  for (const std::int64_t channels : {std::int64_t{1}, std::int64_t{16}, std::int64_t{64}}) {
    const at::Tensor input = at::zeros({2, channels, 14, 14}, at::TensorOptions(at::kFloat).device(device));
    input.select(1, 0).fill_(kProbe);
    const at::Tensor weight = first_column(channels, channels, 1.0, device).view({channels, channels, 1, 1});
    const auto found = deviation(operators.convolution(input, weight),
                                 "conv2d of " + std::to_string(channels) + " channels");
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string find_lowered_fp32(const Fp32Operators& operators, c10::Device device) {
  std::string found = in_products(operators, device);
  return found.empty() ? in_convolutions(operators, device) : found;
}

std::string find_lowered_fp32(const backends::Backend& backend) {
  const backends::NumericsScope numerics(true, false);
  return find_lowered_fp32(
      {[](const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); },
       [](const at::Tensor& input, const at::Tensor& weight) { return at::conv2d(input, weight); }},
      backend.device());
}

}  // namespace ampgate::validate
