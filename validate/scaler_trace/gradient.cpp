#include "validate/scaler_trace/gradient.h"

#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "precision/precision.h"

namespace ampgate::validate::scaler_trace {

using results::Json;

namespace {

constexpr std::array kTypes{at::kFloat, at::kHalf, at::kBFloat16, at::kDouble};

// Whether `count` elements fill the shape, whatever the sizes.
bool fills(std::size_t count, const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return count == 0;
  auto left = static_cast<std::int64_t>(count);
  for (const std::int64_t size : shape) {
    if (left % size != 0) return false;
    left /= size;
  }
  return left == 1;
}

Json values_json(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.to(at::kDouble).contiguous();
  const auto* values = wide.const_data_ptr<double>();
  Json list = Json::array();
  for (std::int64_t i = 0; i < wide.numel(); ++i) list.push_back(shortest(values[i]));
  return list;
}

}  // namespace

c10::ScalarType read_type(const Node& node) {
  const std::string name = node.string();
  std::string known;
  for (const auto type : kTypes) {
    if (name == precision::type_name(type)) return type;
    known += " " + precision::type_name(type);
  }
  node.fail("unknown dtype \"" + name + "\"; known here:" + known);
}

std::vector<std::int64_t> read_shape(const Node& node) {
  return node.integers(0, std::numeric_limits<std::int64_t>::max());
}

at::Tensor read_tensor(const Node& values, const std::vector<std::int64_t>& shape, c10::ScalarType type) {
  if (!fills(values.size(), shape)) {
    values.fail("has " + std::to_string(values.size()) + " values, which do not fill the shape " +
                Json(shape).dump());
  }
  return at::tensor(values.numbers(), at::kDouble).view(shape).to(type);
}

at::Tensor read_gradient(const Node& node, const Parameter& parameter) {
  if (node.is_null()) return {};
  auto object = node.object();
  const auto type = object.has("dtype") ? read_type(node.member(object, "dtype")) : parameter.type;
  const Node values = node.member(object, "values");
  const bool sparse = object.has("indices");
  object.refuse_unknown();
  if (!sparse) return read_tensor(values, parameter.shape, type);

  const Node rows = node.member(object, "indices");
  if (parameter.shape.empty()) rows.fail("a parameter without dimensions has no rows");
  const auto numbers = rows.integers(0, parameter.shape.front() - 1);
  const at::Tensor indices =
      at::tensor(numbers, at::kLong).view({1, static_cast<std::int64_t>(numbers.size())});
  auto shape = parameter.shape;
  shape.front() = indices.size(1);
  return at::sparse_coo_tensor(indices, read_tensor(values, shape, type), parameter.shape);
}

Json gradient_json(const at::Tensor& gradient) {
  if (!gradient.defined()) return nullptr;
  Json object;
  object["values"] = values_json(gradient.is_sparse() ? gradient._values() : gradient);
  object["dtype"] = precision::type_name(gradient.scalar_type());
  if (gradient.is_sparse()) {
    const at::Tensor indices = gradient._indices().contiguous();
    const auto* rows = indices.const_data_ptr<std::int64_t>();
    object["indices"] = std::vector<std::int64_t>(rows, rows + indices.numel());
  }
  return object;
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";  // to_chars would show its sign
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace ampgate::validate::scaler_trace
