#include "cases/files/argument_reader.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <utility>

#include "cases/schemas.h"

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

const c10::Type& element_of(const c10::Type& type) {
  return type.kind() == TypeKind::OptionalType ? *type.expectRef<c10::OptionalType>().getElementType()
                                               : *type.expectRef<c10::ListType>().getElementType();
}

bool is_optional_tensor(const c10::Type& type) {
  return type.kind() == TypeKind::OptionalType && element_of(type).kind() == TypeKind::TensorType;
}

// Does JSON of this kind look like a value of the type? Decides between overloads; reading says what is
// wrong.
bool fits(const Json& value, const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::OptionalType:
      return value.is_null() || fits(value, element_of(type));
    case TypeKind::TensorType:
      return value.is_object();
    case TypeKind::ListType:
      if (value.is_object()) return element_of(type).kind() == TypeKind::TensorType && value.contains("ref");
      return value.is_array() && std::all_of(value.begin(), value.end(),
                                             [&](const Json& item) { return fits(item, element_of(type)); });
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return value.is_number_integer();
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return value.is_number() || value.is_string();
    case TypeKind::NumberType:
      return value.is_number() || value.is_boolean() || value.is_string();
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return value.is_boolean();
    default:
      return value.is_string() || value.is_null();
  }
}

// `int[2]` takes one number for both.
bool repeats_number(const c10::Argument& argument) {
  const c10::Type& type = *argument.type();
  const bool optional = type.kind() == TypeKind::OptionalType;
  return argument.N().has_value() && (optional ? element_of(type) : type).kind() == TypeKind::ListType;
}

// Do all values fit, and is nothing missing?
bool fits(const c10::FunctionSchema& schema, const Json& positional, const Json& keywords) {
  const auto& declared = schema.arguments();
  std::size_t named = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto& argument = declared[i];
    const Json* value = nullptr;
    if (i < positional.size() && !argument.kwarg_only()) value = &positional[i];
    if (const auto found = keywords.find(argument.name()); found != keywords.end()) {
      if (value != nullptr) return false;
      value = &*found;
      ++named;
    }
    if (value == nullptr && !argument.default_value()) return false;
    const bool single = value != nullptr && repeats_number(argument) && value->is_number_integer();
    if (value != nullptr && !single && !fits(*value, *argument.real_type())) return false;
  }
  const auto by_position = std::count_if(declared.begin(), declared.end(),
                                         [](const auto& argument) { return !argument.kwarg_only(); });
  return named == keywords.size() && std::ssize(positional) <= by_position;
}

std::string text(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out << schema;
  return out.str();
}

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

std::vector<c10::OperatorHandle> overloads_of(const std::string& name) {
  std::vector<c10::OperatorHandle> overloads;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& known : dispatcher.getAllOpNames()) {
    if (known.name != name) continue;
    if (auto op = dispatcher.findSchema(known)) overloads.push_back(*op);
  }
  std::sort(overloads.begin(), overloads.end(), [](const auto& a, const auto& b) {
    return a.operator_name().overload_name < b.operator_name().overload_name;
  });
  return overloads;
}

std::string list_of(const std::vector<c10::OperatorHandle>& overloads) {
  std::string list;
  for (const auto& op : overloads) list += "\n  " + text(op.schema());
  return list;
}

[[noreturn]] void fail_unknown(const Node& node, const std::string& name) {
  std::vector<std::string> known;
  const auto colons = name.find("::");
  const std::string space = colons == std::string::npos ? "aten" : name.substr(0, colons);
  for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) {
    const bool near = op.name.starts_with(space + "::");
    if (near && std::find(known.begin(), known.end(), op.name) == known.end()) known.push_back(op.name);
  }
  if (known.empty()) {
    node.fail("LibTorch has no operator '" + name +
              "', nor any in that namespace: names are like aten::gelu; operators of a library of your own "
              "need --load-library");
  }
  // All of a large namespace would say nothing.
  std::string hint = results::suggestion(colons == std::string::npos ? "aten::" + name : name, known);
  if (hint.starts_with("known here") && known.size() > 40) hint = "no name in its namespace is near";
  node.fail("LibTorch has no operator '" + name + "'; " + hint);
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
    node.fail("argument " + std::to_string(position_) + " '" + argument.name() + "' of " +
              full_name(op_.operator_name()) + " must be " + type.annotation_str() + ", is " +
              results::described(node.value()) + (hint.empty() ? "" : "; " + hint) + "\n  " +
              text(op_.schema()));
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
        if (!fits(value, type)) refuse(node, type, "");
        return constant(node.number());
      case TypeKind::NumberType:
        if (!fits(value, type)) refuse(node, type, "");
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

bool Names::taken(const std::string& name) const {
  return results_.contains(name) || std::any_of(tensors_.begin(), tensors_.end(),
                                                [&](const Tensor& tensor) { return tensor.name == name; });
}

std::size_t Names::add_tensor(const Node& node, const TensorSpec& spec, const std::string& otherwise) {
  std::string name = spec.name.empty() ? otherwise : spec.name;
  if (taken(name) && !spec.name.empty()) node.fail("the name '" + name + "' is taken");
  for (int number = 2; taken(name); ++number) name = otherwise + "_" + std::to_string(number);
  tensors_.push_back({name, spec});
  return tensors_.size() - 1;
}

std::size_t Names::read_tensor(const Node& node, const std::string& otherwise) {
  return add_tensor(node, files::read_tensor(node, surroundings_), otherwise);
}

void Names::add_result(const Node& node, const std::string& name, std::size_t number, bool list) {
  if (name.empty()) node.fail("must not be empty");
  if (taken(name)) node.fail("the name '" + name + "' is taken");
  results_.emplace(name, Result{number, list});
}

ArgumentSource Names::refer(const Node& node, bool list) const {
  auto object = node.object();
  const Node ref = node.member(object, "ref");
  std::optional<std::size_t> item;
  if (object.has("item")) item = static_cast<std::size_t>(node.member(object, "item").integer(0, 1 << 20));
  object.refuse_unknown();
  return find(ref, ref.string(), item, list);
}

ArgumentSource Names::find(const Node& node, const std::string& name, std::optional<std::size_t> item,
                           bool list) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    known.push_back(tensors_[i].name);
    if (known.back() != name) continue;
    if (list) node.fail("'" + name + "' is one tensor, and a list is needed: write [{\"ref\": ...}]");
    if (item) node.fail("'" + name + "' is one tensor and has no items");
    return {Kind::kTensor, {}, i};
  }
  const auto found = results_.find(name);
  if (found == results_.end()) {
    for (const auto& [other, result] : results_) known.push_back(other);
    node.fail("nothing before it is called '" + name + "'; " +
              (known.empty() ? "there are no names yet" : results::suggestion(name, known)));
  }
  const bool is_list = found->second.list;
  if (item && !is_list) node.fail("'" + name + "' is one tensor and has no items");
  if (!item && is_list && !list) node.fail("'" + name + "' is a list: name one of its items with \"item\"");
  if (!is_list && list)
    node.fail("'" + name + "' is one tensor, and a list is needed: write [{\"ref\": ...}]");
  ArgumentSource source{item ? Kind::kItem : Kind::kResult, {}, found->second.number};
  if (item) source.item = *item;
  return source;
}

c10::OperatorHandle find_operator(const Node& node, const Json& positional, const Json& keywords) {
  const std::string text = node.string();
  const auto dot = text.find('.', text.find("::") == std::string::npos ? 0 : text.find("::"));
  const std::string name = text.substr(0, dot);
  const auto overloads = overloads_of(name);
  if (overloads.empty()) fail_unknown(node, name);
  if (dot != std::string::npos) {
    const std::string overload = text.substr(dot + 1);
    for (const auto& op : overloads) {
      if (op.operator_name().overload_name == overload) return op;
    }
    node.fail(name + " has no overload '" + overload + "'; it has" + list_of(overloads));
  }
  if (overloads.size() == 1) return overloads.front();
  std::vector<c10::OperatorHandle> fitting;
  for (const auto& op : overloads) {
    if (!fits(op.schema(), positional, keywords)) continue;
    if (op.operator_name().overload_name.empty()) return op;
    fitting.push_back(op);
  }
  if (fitting.size() == 1) return fitting.front();
  node.fail(fitting.empty()
                ? "no overload of " + name + " takes these arguments; there are" + list_of(overloads)
                : "several overloads of " + name + " take these arguments: name one, as " +
                      full_name(fitting.front().operator_name()) + list_of(fitting));
}

std::vector<ArgumentSource> read_arguments(const c10::OperatorHandle& op, const Node& call,
                                           const std::optional<Node>& positional,
                                           const std::optional<Node>& keywords, Names& names) {
  const auto& schema = op.schema();
  const auto& declared = schema.arguments();
  std::vector<std::optional<ArgumentSource>> given(declared.size());
  Reader reader(op, names);
  const std::string name = full_name(op.operator_name());
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
