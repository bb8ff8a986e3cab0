#include "cases/files/tensor_values.h"

#include <ATen/ATen.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "precision/precision.h"

namespace ampgate::cases::files {
namespace {

using results::ObjectReader;

[[noreturn]] void fail_beyond(const Types& types) {
  throw std::out_of_range("its values are beyond those of type " + precision::type_name(types.file));
}

// Values as the file's type holds them, in the type that they have here. Floating types round, but make no
// infinity of a number, and integers do not wrap: throws std::out_of_range.
at::Tensor held(const at::Tensor& values, const Types& types) {
  const at::Tensor stored = values.to(types.file).to(types.here);
  if (values.is_meta()) return stored;
  const bool same = c10::isFloatingType(types.file) ? at::equal(at::isinf(stored), at::isinf(values))
                                                    : at::equal(stored.to(values.scalar_type()), values);
  if (!same) fail_beyond(types);
  return stored;
}

double finite(const Node& node) {
  const double number = node.number();
  if (!std::isfinite(number)) node.fail("must be finite");
  return number;
}

double member_or(const Node& node, ObjectReader& object, const char* key, double otherwise) {
  return object.has(key) ? finite(node.member(object, key)) : otherwise;
}

Values normal(const Node& node, const std::vector<std::int64_t>& sizes, const Types& types) {
  auto object = node.object();
  const double scale = member_or(node, object, "scale", 1.0);
  const double mean = member_or(node, object, "mean", 0.0);
  object.refuse_unknown();
  if (!(scale > 0.0)) node.fail("its scale must be positive");
  return [=](const Fill& fill, std::string_view name) {
    at::Tensor values = fill.normal(name, sizes);
    const bool ordinary = fill.kind() == FillKind::kOrdinary || fill.kind() == FillKind::kNaN ||
                          fill.kind() == FillKind::kInfinite;
    if (ordinary && scale != 1.0) values.mul_(scale);
    if (ordinary && mean != 0.0) values.add_(mean);
    if (fill.kind() != FillKind::kOrdinary) return values.to(types.file).to(types.here);
    if (at::isinf(values).any().item<bool>()) fail_beyond(types);
    return held(values, types);
  };
}

Values uniform(const Node& node, const std::vector<std::int64_t>& sizes, const Types& types) {
  auto object = node.object();
  const double low = member_or(node, object, "low", 0.0);
  const double high = member_or(node, object, "high", 1.0);
  object.refuse_unknown();
  if (!(low < high)) node.fail("its low must be below its high");
  return [=](const Fill& fill, std::string_view name) {
    return held(fill.uniform(name, sizes, low, high), types);
  };
}

Values integers(const Node& node, const std::vector<std::int64_t>& sizes, const Types& types) {
  auto object = node.object();
  const std::int64_t low = object.has("low") ? node.member(object, "low").integer() : 0;
  const std::int64_t high = node.member(object, "high").integer();
  object.refuse_unknown();
  if (low >= high) node.fail("its low must be below its high, which is left out");
  return [=](const Fill& fill, std::string_view name) {
    return held(fill.integers(name, sizes, low, high), types);
  };
}

// Of a fill that needs no numbers: "ones", or {"ones": {}}.
Values plain(const Node& node, const std::string& word, const std::vector<std::int64_t>& sizes,
             const Types& types) {
  if (word == "ones") return constant_values(sizes, types, [sizes] { return at::ones(sizes, at::kDouble); });
  if (word == "zeros")
    return constant_values(sizes, types, [sizes] { return at::zeros(sizes, at::kDouble); });
  if (word == "arange") {
    return constant_values(sizes, types, [sizes] {
      std::int64_t count = 1;
      for (const std::int64_t size : sizes) count *= size;
      return at::arange(count, at::kLong).view(sizes);
    });
  }
  if (word == "normal" || word == "uniform") {
    static const results::Json kNothing = results::Json::object();
    const Node defaults(kNothing, "", "");
    return word == "normal" ? normal(defaults, sizes, types) : uniform(defaults, sizes, types);
  }
  node.fail("unknown fill; " + results::suggestion(word, {"normal", "uniform", "constant", "integers", "ones",
                                                          "zeros", "arange"}));
}

// The shape of arrays in arrays, and their numbers in order.
void flatten(const Node& node, std::size_t depth, std::vector<std::int64_t>& sizes,
             std::vector<double>& values, std::vector<std::int64_t>& whole) {
  if (!node.value().is_array()) {
    if (depth != sizes.size()) node.fail("must be an array, as its neighbours are");
    if (node.value().is_boolean()) {
      values.push_back(node.boolean() ? 1.0 : 0.0);
    } else {
      values.push_back(node.number());
    }
    // Whole numbers beyond 2^53 must not pass through float64.
    whole.push_back(node.value().is_number_integer() ? node.integer() : 0);
    return;
  }
  const auto size = static_cast<std::int64_t>(node.size());
  if (depth == sizes.size()) {
    if (!values.empty()) node.fail("must be a number, as its neighbours are");
    sizes.push_back(size);
  }
  if (sizes[depth] != size)
    node.fail("must have " + std::to_string(sizes[depth]) + " items, as its neighbours have");
  for (const Node& item : node.items()) flatten(item, depth + 1, sizes, values, whole);
}

}  // namespace

Types types_of(at::ScalarType file, Holding holding) {
  if (!c10::isFloatingType(file)) return {file, file};
  return {file, holding == Holding::kWhole ? at::kDouble : at::kFloat};
}

Values constant_values(const std::vector<std::int64_t>& sizes, const Types& types,
                       std::function<at::Tensor()> values) {
  return [sizes, types, values = std::move(values)](const Fill& fill, std::string_view) {
    if (fill.kind() == FillKind::kNone) return at::empty(sizes, at::device(at::kMeta).dtype(types.here));
    return held(values(), types);
  };
}

Values read_fill(const Node& node, const std::vector<std::int64_t>& sizes, const Types& types) {
  if (node.value().is_string()) return plain(node, node.string(), sizes, types);
  auto object = node.object();
  if (object.keys().size() != 1)
    node.fail("must have one member, the fill's name, as {\"normal\": {\"scale\": 1}}");
  const std::string word = object.keys().front();
  const Node options = node.member(object, word);
  if (word == "normal") return normal(options, sizes, types);
  if (word == "uniform") return uniform(options, sizes, types);
  if (word == "integers") return integers(options, sizes, types);
  if (word == "constant") {
    const double value = options.number();
    return constant_values(sizes, types, [=] { return at::full(sizes, value, at::kDouble); });
  }
  Values values = plain(node, word, sizes, types);
  options.object().refuse_unknown();
  return values;
}

Literal read_values(const Node& node, const std::optional<std::vector<std::int64_t>>& shape,
                    const Types& types) {
  Literal literal;
  std::vector<double> values;
  std::vector<std::int64_t> whole;
  flatten(node, 0, literal.sizes, values, whole);
  if (shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : *shape) {
      if (__builtin_mul_overflow(count, size, &count)) node.fail("the shape is beyond 64 bits");
    }
    if (count != std::ssize(values)) {
      node.fail("has " + std::to_string(values.size()) + " values, which do not fill the shape " +
                results::Json(*shape).dump());
    }
    literal.sizes = *shape;
  }
  if (!c10::isFloatingType(types.file)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != std::floor(values[i])) {
        node.fail("holds " + results::to_text(results::number(values[i])) + ", which type " +
                  precision::type_name(types.file) + " has not");
      }
      if (whole[i] == 0) whole[i] = static_cast<std::int64_t>(values[i]);
    }
  }
  const bool floating = c10::isFloatingType(types.file);
  const at::Tensor stored = floating ? at::tensor(values, at::kDouble).view(literal.sizes)
                                     : at::tensor(whole, at::kLong).view(literal.sizes);
  try {
    static_cast<void>(held(stored, types));
  } catch (const std::out_of_range& error) {
    node.fail(error.what());
  }
  literal.values = constant_values(literal.sizes, types, [stored] { return stored; });
  return literal;
}

}  // namespace ampgate::cases::files
