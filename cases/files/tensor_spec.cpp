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

void check_size(const Node& node, const std::vector<std::int64_t>& sizes) {
  auto bytes = static_cast<std::int64_t>(sizeof(double));
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      node.fail("a tensor of these sizes is beyond 64 bits");
  }
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
    Literal literal = read_values(node.member(object, "values"), shape, types);
    spec.sizes = std::move(literal.sizes);
    spec.values = std::move(literal.values);
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

std::string shape_name(const std::vector<std::int64_t>& sizes) {
  std::string name;
  for (const std::int64_t size : sizes) name += (name.empty() ? "" : "x") + std::to_string(size);
  return name.empty() ? "scalar" : name;
}

}  // namespace ampgate::cases::files
