#include "cases/files/tensor_spec.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "cases/safetensors.h"
#include "precision/precision.h"

namespace ampgate::cases::files {
namespace {

using results::ObjectReader;

constexpr auto kAction = "Correct the case file, or put the data file where it says (docs/case-files.md).";
constexpr std::array kTypes{at::kFloat, at::kHalf,  at::kBFloat16, at::kDouble, at::kLong,
                            at::kInt,   at::kShort, at::kChar,     at::kByte,   at::kBool};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A tensor's type in the file, and the type that holds its values here.
struct Types {
  at::ScalarType file;
  at::ScalarType here;
};

Types types_of(at::ScalarType file, Holding holding) {
  if (!c10::isFloatingType(file)) return {file, file};
  return {file, holding == Holding::kWhole ? at::kDouble : at::kFloat};
}

// Values as the file's type holds them, in the type that they have here.
at::Tensor held(const at::Tensor& values, const Types& types) { return values.to(types.file).to(types.here); }

void check_size(const Node& node, const std::vector<std::int64_t>& sizes) {
  auto bytes = static_cast<std::int64_t>(sizeof(double));
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      node.fail("a tensor of these sizes is beyond 64 bits");
  }
}

double finite(const Node& node) {
  const double number = node.number();
  if (!std::isfinite(number)) node.fail("must be finite");
  return number;
}

double member_or(const Node& node, ObjectReader& object, const char* key, double otherwise) {
  return object.has(key) ? finite(node.member(object, key)) : otherwise;
}

using Values = std::function<at::Tensor(const Fill&, std::string_view)>;

// What a fill does not replace has no values either where sizes alone are asked for.
Values constant_values(const std::vector<std::int64_t>& sizes, const Types& types,
                       std::function<at::Tensor()> values) {
  return [sizes, types, values = std::move(values)](const Fill& fill, std::string_view) {
    if (fill.kind() == FillKind::kNone) return at::empty(sizes, at::device(at::kMeta).dtype(types.here));
    return held(values(), types);
  };
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
  return plain(node, word, sizes, types);
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

void read_values(const Node& node, const std::optional<std::vector<std::int64_t>>& shape, const Types& types,
                 TensorSpec& spec) {
  std::vector<double> values;
  std::vector<std::int64_t> whole;
  flatten(node, 0, spec.sizes, values, whole);
  if (shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : *shape) {
      if (__builtin_mul_overflow(count, size, &count)) node.fail("the shape is beyond 64 bits");
    }
    if (count != std::ssize(values)) {
      node.fail("has " + std::to_string(values.size()) + " values, which do not fill the shape " +
                results::Json(*shape).dump());
    }
    spec.sizes = *shape;
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
  const at::Tensor stored = floating ? at::tensor(values, at::kDouble).view(spec.sizes)
                                     : at::tensor(whole, at::kLong).view(spec.sizes);
  spec.values = constant_values(spec.sizes, types, [stored] { return stored; });
}

void read_stored(const Node& node, ObjectReader& object, const Surroundings& surroundings,
                 const std::optional<at::ScalarType>& type, Holding holding, TensorSpec& spec) {
  const std::filesystem::path file = surroundings.folder / node.member(object, "file").string();
  if (!std::filesystem::is_regular_file(file))
    node.member(object, "file").fail("there is no file " + file.string());
  const Node tensor = node.member(object, "tensor");
  const std::string name = tensor.string();
  const auto stored = describe_safetensors(file, kAction);
  const auto found = stored.find(name);
  if (found == stored.end()) {
    std::vector<std::string> known;
    for (const auto& [other, described] : stored) known.push_back(other);
    tensor.fail("is not in " + file.string() + "; " + results::suggestion(name, known));
  }
  surroundings.used->push_back(file);
  spec.sizes = found->second.sizes;
  if (object.has("rows")) {
    if (spec.sizes.empty()) node.fail("a tensor without dimensions has no rows");
    spec.sizes.front() = node.member(object, "rows").integer(1, spec.sizes.front());
  }
  const Types types = types_of(type.value_or(found->second.type), holding);
  spec.type = types.here;
  // Read once, however often the case is set up.
  const auto kept = std::make_shared<at::Tensor>();
  spec.values = constant_values(spec.sizes, types, [=, rows = spec.sizes] {
    if (!kept->defined()) *kept = read_safetensors(file, name, kAction);
    return (rows.empty() ? *kept : kept->narrow(0, 0, rows.front())).clone();
  });
}

}  // namespace

std::optional<Layout> read_layout(const Node& node) {
  const std::string word = node.string();
  std::vector<std::string> known{"contiguous"};
  if (word == known.front()) return {};
  for (const Layout layout : all_layouts()) {
    known.emplace_back(layout_name(layout));
    if (word == known.back()) return layout;
  }
  node.fail("unknown layout; " + results::suggestion(word, known));
}

at::ScalarType read_type(const Node& node) {
  const std::string word = node.string();
  std::vector<std::string> known;
  for (const auto type : kTypes) {
    known.push_back(precision::type_name(type));
    if (word == known.back()) return type;
  }
  node.fail("unknown type; " + results::suggestion(word, known));
}

TensorSpec read_tensor(const Node& node, const Surroundings& surroundings, Holding holding) {
  auto object = node.object();
  TensorSpec spec;
  object.read("name", spec.name);
  object.read("requires_grad", spec.requires_grad);
  std::optional<at::ScalarType> type;
  if (object.has("type")) type = read_type(node.member(object, "type"));
  if (object.has("layout")) spec.layout = read_layout(node.member(object, "layout"));
  if (object.has("role")) {
    const std::string role = node.member(object, "role").string();
    if (role != "input" && role != "weight") node.member(object, "role").fail("must be input or weight");
    spec.weight = role == "weight";
  }
  std::optional<std::vector<std::int64_t>> shape;
  if (object.has("shape")) {
    const Node sizes = node.member(object, "shape");
    shape = sizes.integers(0, kMost);
    check_size(sizes, *shape);
  }
  const int sources = static_cast<int>(object.has("fill")) + static_cast<int>(object.has("values")) +
                      static_cast<int>(object.has("file"));
  if (sources != 1) {
    node.fail(R"(must say its values in one way: "shape" with "fill", or "values", or "file" with "tensor")");
  }
  if (object.has("fill")) {
    if (!shape) node.fail("a fill needs a \"shape\"");
    const Node fill = node.member(object, "fill");
    const bool whole = fill.value().is_object() && fill.value().contains("integers");
    const Types types = types_of(type.value_or(whole ? at::kLong : at::kFloat), holding);
    spec.sizes = *shape;
    spec.type = types.here;
    spec.values = read_fill(fill, spec.sizes, types);
    const std::string word = fill.value().is_string() ? fill.string() : fill.object().keys().front();
    spec.seeded = word == "normal" || word == "uniform" || word == "integers";
  } else if (object.has("values")) {
    // Without a type, what is held whole is taken as it is written.
    const Types types =
        types_of(type.value_or(holding == Holding::kWhole ? at::kDouble : at::kFloat), holding);
    spec.type = types.here;
    read_values(node.member(object, "values"), shape, types, spec);
  } else {
    if (shape) node.fail("the sizes of a stored tensor are in its file: leave \"shape\" out");
    read_stored(node, object, surroundings, type, holding, spec);
  }
  object.refuse_unknown();
  if (spec.requires_grad && spec.type != at::kFloat) node.fail("only floating tensors have gradients");
  if (spec.layout && !can_lie(at::empty(spec.sizes, at::device(at::kMeta).dtype(spec.type)), *spec.layout))
    node.fail("a tensor of these sizes has no such layout");
  return spec;
}

at::Tensor make(const TensorSpec& spec, const std::string& name, const Fill& fill) {
  at::Tensor tensor = spec.values(fill, name);
  // Sizes alone have no layout.
  return spec.layout && fill.kind() != FillKind::kNone ? laid_out(tensor, *spec.layout) : tensor;
}

}  // namespace ampgate::cases::files
