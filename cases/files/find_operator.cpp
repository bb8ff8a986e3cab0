#include "cases/files/find_operator.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "cases/files/argument_types.h"

namespace ampgate::cases::files {
namespace {

using c10::TypeKind;
using results::Json;

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

// Of tensors whose dimensions have names, which no case file can give.
bool names_dimensions(const std::string& overload) {
  return overload.find("imname") != std::string::npos || overload.starts_with("names");
}

std::vector<c10::OperatorHandle> overloads_of(const std::string& name) {
  std::vector<c10::OperatorHandle> overloads;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& known : dispatcher.getAllOpNames()) {
    if (known.name != name || names_dimensions(known.overload_name)) continue;
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

}  // namespace

std::string text(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out << schema;
  return out.str();
}

std::string full_name(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
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
  if (fitting.empty()) {
    // Where only one can be meant, its arguments say best what is wrong.
    std::vector<c10::OperatorHandle> meant;
    for (const auto& op : overloads) {
      const auto& declared = op.schema().arguments();
      if (std::none_of(declared.begin(), declared.end(),
                       [](const auto& argument) { return argument.is_out(); }))
        meant.push_back(op);
    }
    if (meant.size() == 1) return meant.front();
  }
  node.fail(fitting.empty()
                ? "no overload of " + name + " takes these arguments; there are" + list_of(overloads)
                : "several overloads of " + name + " take these arguments: name one, as " +
                      full_name(fitting.front()) + list_of(fitting));
}

}  // namespace ampgate::cases::files
