#include "validate/selftest/peers.h"

#include <ATen/ATen.h>

#include "backends/digest.h"

namespace ampgate::validate::selftest {
namespace {

struct Tolerance {
  double relative;
  double absolute;
};

Tolerance assert_close_default(c10::ScalarType type) {
  if (type == at::kHalf) return {1e-3, 1e-5};
  if (type == at::kBFloat16) return {1.6e-2, 1e-5};
  return {1.3e-6, 1e-5};
}

bool close(const at::Tensor& actual, const at::Tensor& expected, Tolerance tolerance) {
  return at::allclose(actual, expected, tolerance.relative, tolerance.absolute, /*equal_nan=*/true);
}

}  // namespace

void Peers::add(const Peers& other) {
  torch_testing = torch_testing || other.torch_testing;
  one_percent = one_percent || other.one_percent;
  k_over_100 = k_over_100 || other.k_over_100;
}

Peers rejected_by(const cases::Outputs& faulty, const cases::Outputs& right, std::int64_t length) {
  Peers peers;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (faulty[i].sizes() != right[i].sizes() || faulty[i].scalar_type() != right[i].scalar_type()) {
      return {true, true, true};
    }
    const at::Tensor actual = faulty[i].to(at::kDouble), expected = right[i].to(at::kDouble);
    peers.add({!close(actual, expected, assert_close_default(right[i].scalar_type())),
               !close(actual, expected, {1e-2, 1e-2}),
               !close(actual, expected, {0.0, static_cast<double>(length) / 100.0})});
  }
  return peers;
}

bool identical(const cases::Outputs& a, const cases::Outputs& b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i].scalar_type() != b[i].scalar_type() || a[i].sizes() != b[i].sizes()) return false;
    if (backends::digest(a[i]) != backends::digest(b[i])) return false;
  }
  return true;
}

}  // namespace ampgate::validate::selftest
