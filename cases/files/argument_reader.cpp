#include "cases/files/argument_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "cases/files/argument_types.h"
#include "cases/files/find_operator.h"

namespace ampgate::cases::files {
namespace {

using c10::TypeKind;
using results::Json;
using Kind = ArgumentSource::Kind;

constexpr std::array<std::pair<const char*, at::MemoryFormat>, 4> kFormats{
    {{"contiguous", at::MemoryFormat::Contiguous},
     {"preserve", at::MemoryFormat::Preserve},
     {"channels_last", at::MemoryFormat::ChannelsLast},
     {"channels_last_3d", at::MemoryFormat::ChannelsLast3d}}};

ArgumentSource constant(c10::IValue value) { return {Kind::kConstant, std::move(value)}; }

bool is_optional_tensor(const c10::Type& type) {
  return type.kind() == TypeKind::OptionalType && element_of(type).kind() == TypeKind::TensorType;
}

class Reader {
 public:
  Reader(const c10::OperatorHandle& op, Names& names) : op_(op), names_(names) {}

  ArgumentSource read(std::size_t position, const Node& node) {
    position_ = position;
    const auto& argument = op_.schema().arguments()[position];
    if (repeats_number(argument) && node.value().is_number_integer()) {
      const std::vector<std::int64_t> repeated(static_cast<std::size_t>(*argument.N()), node.integer());
      return constant(repeated);
    }
    return read(node, *argument.real_type());
  }

 private:
  [[noreturn]] void refuse(const Node& node, const c10::Type& type, const std::string& hint) const {
    const auto& argument = op_.schema().arguments()[position_];
    node.fail("argument " + std::to_string(position_) + " '" + argument.name() + "' of " + full_name(op_) +
              " must be " + type.annotation_str() + ", is " + results::described(node.value()) +
              (hint.empty() ? "" : "; " + hint) + "\n  " + text(op_.schema()));
  }

  ArgumentSource read(const Node& node, const c10::Type& type) {
    const Json& value = node.value();
    switch (type.kind()) {
      case TypeKind::OptionalType:
        return value.is_null() ? constant({}) : read(node, element_of(type));
      case TypeKind::TensorType:
        return read_tensor(node, type);
      case TypeKind::ListType:
        return read_list(node, type);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        if (!value.is_number_integer()) refuse(node, type, "");
        return constant(node.integer());
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        if (!value.is_number() && !value.is_string()) refuse(node, type, "");
        return constant(node.number());
      case TypeKind::NumberType:
        if (!value.is_primitive() || value.is_null()) refuse(node, type, "");
        if (value.is_boolean()) return constant(node.boolean());
        if (value.is_number_integer()) return constant(node.integer());
        return constant(node.number());
      case TypeKind::BoolType:
      case TypeKind::SymBoolType:
        if (!value.is_boolean()) refuse(node, type, "");
        return constant(node.boolean());
      case TypeKind::StringType:
        if (!value.is_string()) refuse(node, type, "");
        return constant(node.string());
      default:
        return read_word(node, type);
    }
  }

  ArgumentSource read_tensor(const Node& node, const c10::Type& type) {
    constexpr auto kHint = R"(write {"tensor": {"shape": [2, 3], "fill": "normal"}} or {"ref": "name"})";
    if (!node.value().is_object()) refuse(node, type, kHint);
    auto object = node.object();
    if (object.has("ref")) return names_.refer(node, false);
    if (!object.has("tensor")) refuse(node, type, kHint);
    const Node tensor = node.member(object, "tensor");
    object.refuse_unknown();
    return {Kind::kTensor, {}, names_.read_tensor(tensor, op_.schema().arguments()[position_].name())};
  }

  ArgumentSource read_list(const Node& node, const c10::Type& type) {
    const c10::Type& element = element_of(type);
    const bool tensors = element.kind() == TypeKind::TensorType;
    if (tensors && node.value().is_object()) return names_.refer(node, true);
    if (!node.value().is_array()) refuse(node, type, "");
    ArgumentSource list;
    for (const Node& item : node.items()) list.items.push_back(read(item, element));
    if (tensors || is_optional_tensor(element)) {
      list.kind = tensors ? Kind::kTensors : Kind::kOptionalTensors;
      return list;
    }
    return constant(constants(node, type, element, list.items));
  }

  c10::IValue constants(const Node& node, const c10::Type& type, const c10::Type& element,
                        const std::vector<ArgumentSource>& items) const {
    const auto as = [&](auto convert) {
      std::vector<decltype(convert(c10::IValue()))> values;
      for (const auto& item : items) values.push_back(convert(item.constant));
      return values;
    };
    switch (element.kind()) {
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return as([](const c10::IValue& value) { return value.toInt(); });
      case TypeKind::FloatType:
        return as([](const c10::IValue& value) { return value.toDouble(); });
      case TypeKind::StringType:
        return as([](const c10::IValue& value) { return value.toStringRef(); });
      case TypeKind::BoolType: {
        c10::List<bool> flags;
        for (const auto& item : items) flags.push_back(item.constant.toBool());
        return flags;
      }
      case TypeKind::NumberType: {
        c10::impl::GenericList numbers(c10::NumberType::get());
        for (const auto& item : items) numbers.push_back(item.constant);
        return numbers;
      }
      default:
        refuse(node, type, "a case file cannot give such a list");
    }
  }

  // Types, formats, devices: names in a case file, numbers in LibTorch.
  ArgumentSource read_word(const Node& node, const c10::Type& type) const {
    switch (type.kind()) {
      case TypeKind::ScalarTypeType:
        if (!node.value().is_string()) refuse(node, type, R"(write a name such as "float32")");
        return {Kind::kType, static_cast<std::int64_t>(read_type(node))};
      case TypeKind::MemoryFormatType:
        for (const auto& [name, format] : kFormats) {
          if (node.value() == name) return constant(static_cast<std::int64_t>(format));
        }
        refuse(node, type, "known: contiguous, preserve, channels_last, channels_last_3d");
      case TypeKind::LayoutType:
        if (node.value() == "strided") return constant(static_cast<std::int64_t>(at::kStrided));
        refuse(node, type, "known: strided");
      case TypeKind::DeviceObjType:
        if (node.value() == "device") return {Kind::kDevice};
        refuse(node, type, R"(write "device": that of the run, which --device chooses)");
      default:
        refuse(node, type, "a case file cannot give such a value: leave it to its default");
    }
  }

  const c10::OperatorHandle& op_;
  Names& names_;
  std::size_t position_ = 0;
};

// The default of an argument that is not given. LibTorch's rms_norm takes the eps of the type that comes in
// for FP64, FP32's for all others: the oracle must not be another function.
ArgumentSource default_of(const c10::OperatorHandle& op, const c10::Argument& argument) {
  if (op.operator_name().name == "aten::rms_norm" && argument.name() == "eps")
    return constant(double{std::numeric_limits<float>::epsilon()});
  return constant(*argument.default_value());
}

std::optional<std::size_t> position_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto& declared = schema.arguments();
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].name() == name) return i;
  }
  return {};
}

}  // namespace

std::vector<ArgumentSource> read_arguments(const c10::OperatorHandle& op, const Node& call,
                                           const std::optional<Node>& positional,
                                           const std::optional<Node>& keywords, Names& names) {
  const auto& schema = op.schema();
  const auto& declared = schema.arguments();
  std::vector<std::optional<ArgumentSource>> given(declared.size());
  Reader reader(op, names);
  const std::string name = full_name(op);
  if (positional) {
    const auto items = positional->items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i >= declared.size() || declared[i].kwarg_only()) {
        positional->fail(name + " takes " + std::to_string(i) + " arguments by position, " +
                         std::to_string(items.size()) + " are given\n  " + text(schema));
      }
      given[i] = reader.read(i, items[i]);
    }
  }
  if (keywords) {
    auto object = keywords->object();
    for (const std::string& key : object.keys()) {
      const Node value = keywords->member(object, key);
      const auto position = position_of(schema, key);
      if (!position) {
        std::vector<std::string> known;
        for (const auto& argument : declared) known.push_back(argument.name());
        value.fail(name + " has no argument '" + key + "'; " + results::suggestion(key, known) + "\n  " +
                   text(schema));
      }
      if (given[*position]) value.fail("argument '" + key + "' is given by position as well");
      given[*position] = reader.read(*position, value);
    }
  }
  std::vector<ArgumentSource> sources;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (!given[i] && !declared[i].default_value()) {
      call.fail("argument " + std::to_string(i) + " '" + declared[i].name() + "' (" +
                declared[i].real_type()->annotation_str() + ") of " + name + " is missing\n  " +
                text(schema));
    }
    sources.push_back(given[i] ? std::move(*given[i]) : default_of(op, declared[i]));
  }
  return sources;
}

}  // namespace ampgate::cases::files
