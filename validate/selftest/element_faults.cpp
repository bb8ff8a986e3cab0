// Wrong elements of a right result: values, bits, tiles and rows.
#include <ATen/ATen.h>

#include <limits>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

// The bits of a contiguous 16- or 32-bit tensor as integers.
at::Tensor bits_of(const at::Tensor& tensor) {
  return tensor.view(tensor.element_size() == 2 ? at::kShort : at::kInt).flatten();
}

int mantissa_bits(c10::ScalarType type) { return type == at::kFloat ? 23 : type == at::kHalf ? 10 : 7; }

at::Tensor flipped(Call& call, int bit) {
  at::Tensor result = copy_of(call.right());
  if (result.numel() == 0) return {};
  at::Tensor element = bits_of(result).select(0, typical_element(call));
  element.bitwise_xor_(static_cast<std::int64_t>(element.element_size() == 2 ? std::int16_t(1u << bit)
                                                                             : std::int32_t(1u << bit)));
  return result;
}

Kernel flip_sign() {
  return [](Call& call) { return flipped(call, call.type() == at::kFloat ? 31 : 15); };
}

// Bits counted from the top of their field, 1 being the highest.
Kernel flip_exponent(int from_top) {
  return [from_top](Call& call) -> at::Tensor {
    const int width = call.type() == at::kHalf ? 5 : 8;
    return from_top > width ? at::Tensor() : flipped(call, mantissa_bits(call.type()) + width - from_top);
  };
}

Kernel flip_mantissa(int from_top) {
  return [from_top](Call& call) -> at::Tensor {
    const int width = mantissa_bits(call.type());
    return from_top > width ? at::Tensor() : flipped(call, width - from_top);
  };
}

Kernel element_is(double value) {
  return [value](Call& call) -> at::Tensor {
    at::Tensor result = copy_of(call.right());
    if (result.numel() == 0) return {};
    result.flatten().select(0, typical_element(call)).fill_(value);
    return result;
  };
}

at::Tensor constant(Call& call) {
  const at::Tensor mean = call.right().to(at::kDouble).mean();
  return at::full_like(call.right(), mean.item<double>());
}

at::Tensor scaled(Call& call) {
  const at::Tensor larger = call.right().to(at::kDouble) * (1.0 + 0x1p-7);
  return precision::round_tensor(larger.cpu(), call.type()).to(call.right().device());
}

at::Tensor low_bit_stuck(Call& call) {
  at::Tensor result = copy_of(call.right());
  bits_of(result).bitwise_or_(1);
  return result;
}

// What the operator gives for the batch before this one.
at::Tensor previous_result(Call& call) {
  const std::size_t first = call.floating().front();
  Arguments before = call.arguments();
  before[first] = at::roll(before[first].toTensor(), 1).neg();
  return call.with(before);
}

// The first tile of a result: 8 x 8 of its last two dimensions, 8 elements of a vector.
at::Tensor tile_of(const at::Tensor& result) {
  at::Tensor tile = result;
  while (tile.dim() > 2) tile = tile.select(0, 0);
  for (std::int64_t dim = 0; dim < tile.dim(); ++dim) {
    tile = tile.narrow(dim, 0, std::min<std::int64_t>(8, tile.size(dim)));
  }
  return tile;
}

at::Tensor stale_tile(Call& call) {
  at::Tensor result = copy_of(call.right());
  tile_of(result).copy_(tile_of(previous_result(call)));
  return result;
}

// A kernel that allocates its result and leaves a tile out: whatever the allocator's block held stays there.
at::Tensor unwritten_tile(Call& call) {
  const at::Tensor& right = call.right();
  at::Tensor result = at::empty(right.sizes(), right.options());
  const at::Tensor left = tile_of(result).clone();
  result.copy_(right);
  tile_of(result).copy_(left);
  return result;
}

at::Tensor transposed_tile(Call& call) {
  at::Tensor result = copy_of(call.right());
  at::Tensor tile = tile_of(result);
  const std::int64_t side = tile.dim() == 2 ? std::min(tile.size(0), tile.size(1)) : 1;
  if (side > 1) {
    tile = tile.narrow(0, 0, side).narrow(1, 0, side);
    tile.copy_(tile.t().clone());
  } else {
    tile = result.flatten().narrow(0, 0, std::min<std::int64_t>(8, result.numel()));
    tile.copy_(tile.flip(0));
  }
  return result;
}

at::Tensor swapped_rows(Call& call) {
  at::Tensor result = copy_of(call.right());
  if (result.dim() == 0) return {};
  const std::int64_t dim = result.dim() > 1 ? -2 : 0;
  if (result.size(dim) < 2) return {};
  const at::Tensor first = result.select(dim, 0).clone();
  result.select(dim, 0).copy_(result.select(dim, 1));
  result.select(dim, 1).copy_(first);
  return result;
}

at::Tensor shifted(Call& call) { return at::roll(call.right(), 1); }

at::Tensor tail_missing(Call& call) {
  at::Tensor result = copy_of(call.right());
  if (result.dim() == 0) return {};
  const std::int64_t width = result.size(-1);
  const std::int64_t tail = width > 8 && width % 8 != 0 ? width % 8 : 1;
  result.narrow(-1, width - tail, tail).zero_();
  return result;
}

at::Tensor last_repeated(Call& call) {
  at::Tensor result = copy_of(call.right());
  if (result.dim() == 0 || result.size(-1) < 2) return {};
  result.select(-1, -1).copy_(result.select(-1, -2));
  return result;
}

}  // namespace

void add_element_faults(Faults& faults) {
  const auto add = [&](const std::string& kind, Kernel kernel) {
    faults[kind] = {std::move(kernel), Hits::kOne};
  };
  add("nan-element", element_is(std::numeric_limits<double>::quiet_NaN()));
  add("inf-element", element_is(std::numeric_limits<double>::infinity()));
  add("flip-sign", flip_sign());
  for (int bit = 1; bit <= 8; ++bit) add("flip-exponent-" + std::to_string(bit), flip_exponent(bit));
  for (int bit = 1; bit <= 23; ++bit) add("flip-mantissa-" + std::to_string(bit), flip_mantissa(bit));
  add("all-zeros", [](Call& call) { return at::zeros_like(call.right()); });
  add("constant", constant);
  add("scaled", scaled);
  add("low-bit-stuck", low_bit_stuck);
  add("previous-result", previous_result);
  add("stale-tile", stale_tile);
  add("unwritten-tile", unwritten_tile);
  add("transposed-tile", transposed_tile);
  add("swapped-rows", swapped_rows);
  add("shifted", shifted);
  add("tail-missing", tail_missing);
  add("last-repeated", last_repeated);
}

}  // namespace ampgate::validate::selftest
