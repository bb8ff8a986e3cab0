#include "cases/files/read_program.h"

#include <ATen/core/enum_tag.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <optional>

#include "cases/files/argument_reader.h"
#include "cases/files/find_operator.h"
#include "cases/schemas.h"

namespace ampgate::cases::files {
namespace {

using results::Json;

struct Reading {
  explicit Reading(Names known) : names(std::move(known)) {}
  Names names;
  Program program;
  std::vector<std::string> outputs;
  bool writes = false;  // an operator writes to a result of another
};

const c10::IValue* constant_of(const c10::OperatorHandle& op, const std::vector<ArgumentSource>& arguments,
                               const char* name) {
  const auto& declared = op.schema().arguments();
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].name() == name && arguments[i].kind == ArgumentSource::Kind::kConstant)
      return &arguments[i].constant;
  }
  return nullptr;
}

// Operators with a dropout draw nothing where it is 0, or where they are told not to train.
bool draws(const c10::OperatorHandle& op, const std::vector<ArgumentSource>& arguments) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  for (const char* name : {"p", "dropout_p", "dropout"}) {
    const auto* p = constant_of(op, arguments, name);
    if (p != nullptr && p->isDouble() && p->toDouble() == 0.0) return false;
  }
  const auto* train = constant_of(op, arguments, "train");
  return train == nullptr || !train->isBool() || train->toBool();
}

void check_sound(const Node& node, const c10::OperatorHandle& op,
                 const std::vector<ArgumentSource>& arguments, Reading& reading) {
  const auto& schema = op.schema();
  if (reaches_beyond(schema.name())) {
    node.fail(schema.name() +
              " reaches beyond the case: values of files are given as {\"file\", \"tensor\"} of a "
              "safetensors file");
  }
  if (draws(op, arguments)) {
    node.fail(
        schema.name() +
        " draws random numbers, which are others in every type: draw them once and give them as a tensor");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(schema.arguments()[i])) continue;
    reading.writes = true;
    const auto tensor = [](const ArgumentSource& source) {
      return source.kind == ArgumentSource::Kind::kTensor;
    };
    if (tensor(arguments[i]) || std::any_of(arguments[i].items.begin(), arguments[i].items.end(), tensor)) {
      node.fail(schema.name() + " writes to its argument '" + schema.arguments()[i].name() +
                "', an input of the case: every run but the first would see other values. Write to a copy "
                "that an operator before it makes, as aten::clone does");
    }
  }
  for (const auto& result : schema.returns()) {
    const auto kind = result.type()->kind();
    const bool list =
        kind == c10::TypeKind::ListType &&
        result.type()->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::TensorType;
    if (kind == c10::TypeKind::TensorType || list) continue;
    node.fail(schema.name() + " returns " + result.type()->annotation_str() + ": only tensors can be judged");
  }
  if (schema.returns().empty()) node.fail(schema.name() + " returns nothing that could be judged");
}

bool is_list(const c10::OperatorHandle& op, std::size_t result) {
  return op.schema().returns()[result].type()->kind() == c10::TypeKind::ListType;
}

// Reads one operator with its arguments; its results get numbers but no names.
const Step& read_step(const Node& node, const Node& name, const std::optional<Node>& positional,
                      const std::optional<Node>& keywords, Reading& reading) {
  static const Json kNone = Json::array();
  static const Json kNoNames = Json::object();
  if (positional) static_cast<void>(positional->size());  // is it an array?
  if (keywords) static_cast<void>(keywords->object());
  const auto op =
      find_operator(name, positional ? positional->value() : kNone, keywords ? keywords->value() : kNoNames);
  auto arguments = read_arguments(op, node, positional, keywords, reading.names);
  check_sound(name, op, arguments, reading);
  Program& program = reading.program;
  program.steps.push_back({OperatorCall(op, std::move(arguments)), program.results});
  program.results += op.schema().returns().size();
  return program.steps.back();
}

// "values", "indices" where the schema names its results, else "out", "out1", ...
std::vector<std::string> result_names(const c10::FunctionSchema& schema) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    const std::string& own = schema.returns()[i].name();
    names.push_back(!own.empty() ? own : i == 0 ? "out" : "out" + std::to_string(i));
  }
  return names;
}

void read_single(const Document& document, Reading& reading) {
  const Step& step = read_step(document.root(), document.member("operator"), document.optional("arguments"),
                               document.optional("keywords"), reading);
  const auto& op = step.call.op();
  const std::size_t count = op.schema().returns().size();
  bool lists = false;
  for (std::size_t i = 0; i < count; ++i) {
    lists = lists || is_list(op, i);
    reading.program.outputs.push_back({ArgumentSource::Kind::kResult, {}, step.first_result + i});
  }
  const auto outputs = document.optional("outputs");
  if (!outputs) {
    if (lists) {
      document.root().fail(op.schema().name() +
                           " returns a list of tensors: name each of them in \"outputs\"");
    }
    reading.outputs = result_names(op.schema());
    return;
  }
  for (const Node& item : outputs->items()) reading.outputs.push_back(item.string());
  if (!lists && reading.outputs.size() != count) {
    outputs->fail("names " + std::to_string(reading.outputs.size()) + " outputs, " + op.schema().name() +
                  " returns " + std::to_string(count));
  }
}

void name_results(const Node& node, results::ObjectReader& object, Step& step, Reading& reading) {
  const auto& op = step.call.op();
  const std::size_t count = op.schema().returns().size();
  if (object.has("result")) {
    const Node name = node.member(object, "result");
    if (count != 1) {
      name.fail(op.schema().name() + " returns " + std::to_string(count) +
                " values: give \"results\": one name each, or null");
    }
    reading.names.add_result(name, name.string(), step.first_result, is_list(op, 0));
    step.region = name.string();
  } else if (object.has("results")) {
    const Node names = node.member(object, "results");
    if (names.size() != count) {
      names.fail(op.schema().name() + " returns " + std::to_string(count) + " values, and " +
                 std::to_string(names.size()) + " names are given");
    }
    std::size_t i = 0;
    for (const Node& name : names.items()) {
      if (!name.is_null()) {
        reading.names.add_result(name, name.string(), step.first_result + i, is_list(op, i));
        if (step.region.empty()) step.region = name.string();
      }
      ++i;
    }
  }
}

void read_sequence(const Node& operators, const Node& outputs, Reading& reading) {
  if (operators.size() == 0) operators.fail("lists no operator");
  for (const Node& node : operators.items()) {
    auto object = node.object();
    const auto optional = [&](const char* key) {
      return object.has(key) ? std::optional(node.member(object, key)) : std::nullopt;
    };
    const Node name = node.member(object, "operator");
    read_step(node, name, optional("arguments"), optional("keywords"), reading);
    name_results(node, object, reading.program.steps.back(), reading);
    object.refuse_unknown();
  }
  for (const Node& item : outputs.items()) {
    if (item.value().is_string()) {
      reading.outputs.push_back(item.string());
      reading.program.outputs.push_back(reading.names.find(item, item.string(), {}, false));
    } else {
      auto object = item.object();
      reading.outputs.push_back(item.member(object, "name").string());
      reading.program.outputs.push_back(reading.names.refer(item.member(object, "value"), false));
      object.refuse_unknown();
    }
    if (reading.program.outputs.back().kind == ArgumentSource::Kind::kTensor)
      item.fail("is an input of the case: nothing computes it");
  }
  if (reading.outputs.empty()) outputs.fail("names no output: there is nothing to judge");
  if (reading.writes) {
    // An island works on copies: what is written to them would be lost.
    for (Step& step : reading.program.steps) step.region.clear();
  }
}

void read_named_tensors(const Document& document, Reading& reading) {
  const auto tensors = document.optional("tensors");
  if (!tensors) return;
  auto object = tensors->object();
  for (const std::string& name : object.keys()) {
    const Node node = tensors->member(object, name);
    TensorSpec spec = read_tensor(node, document.surroundings());
    if (!spec.name.empty()) node.fail("has its name from \"tensors\": leave \"name\" out");
    spec.name = name;
    reading.names.add_tensor(node, spec, name);
  }
}

void check_used(const Document& document, const Names& names) {
  const auto tensors = document.optional("tensors");
  if (!tensors) return;
  auto object = tensors->object();
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string name = object.keys()[i];
    if (!names.is_used(i)) tensors->member(object, name).fail("is given to no operator: leave it out");
  }
}

// What an operator says of its arguments, without the advice in the lines that follow.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What words mean an operator may look up only where there are values.
bool takes_words(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const auto& arguments = step.call.arguments();
    return std::any_of(arguments.begin(), arguments.end(),
                       [](const ArgumentSource& source) { return source.constant.isString(); });
  });
}

Node place_of(const Document& document, std::size_t step) {
  return document.has("operators") ? document.member("operators").items().at(step)
                                   : document.member("operator");
}

void check_writes(const ReadProgram& built, const State& sizes, const Document& document) {
  const auto written = built.program.write_to(sizes);
  if (!written) return;
  place_of(document, written->step)
      .fail(built.program.steps[written->step].call.op().schema().name() + " writes to the memory of '" +
            written->text +
            "', an input of the case: every run but the first would see other values. Write to a copy that "
            "an operator before it makes, as aten::clone does");
}

}  // namespace

State ReadProgram::state(const Fill& fill) const {
  State state;
  for (const auto& [name, spec] : tensors)
    state.tensors.push_back({name, make(spec, name, fill), spec.weight ? Role::kWeight : Role::kInput});
  return state;
}

void check_fits(const ReadProgram& built, const Document& document) {
  const Fill fill(0, document.name(), "");
  const State sizes = built.state(fill.with(FillKind::kNone));
  check_writes(built, sizes, document);
  auto refusal = built.program.refusal(sizes);
  const bool words = takes_words(built.program) && !built.program.is_foreign();
  if (!refusal && !words) return;
  const std::optional<std::size_t> step = refusal ? std::optional(refusal->step) : std::nullopt;
  // Some operators refuse tensors for having no values: then others refuse them, or none.
  try {
    refusal = built.program.refusal(built.state(fill));
  } catch (const c10::Error&) {
    return;  // there is no memory for them, say: the trial will tell
  } catch (const std::bad_alloc&) {
    return;
  }
  if (!refusal || (step && refusal->step != *step)) return;
  place_of(document, refusal->step)
      .fail(built.program.steps[refusal->step].call.op().schema().name() +
            " refuses its arguments: " + first_line(refusal->text));
}

ReadProgram read_program(const Document& document) {
  Reading reading(Names(document.surroundings()));
  read_named_tensors(document, reading);
  if (document.has("operators")) {
    read_sequence(document.member("operators"), document.member("outputs"), reading);
  } else {
    read_single(document, reading);
  }
  check_used(document, reading.names);
  return {reading.names.tensors(), std::move(reading.program), std::move(reading.outputs)};
}

Program read_reference(const Node& node, const Document& document, const ReadProgram& judged) {
  Reading reading(Names(document.surroundings(), judged.tensors));
  auto object = node.object();
  read_sequence(node.member(object, "operators"), node.member(object, "outputs"), reading);
  object.refuse_unknown();
  if (reading.names.tensors().size() != judged.tensors.size()) {
    node.fail(R"(works on the case's own tensors: refer to them by name, as {"ref": ")" +
              (judged.tensors.empty() ? "x" : judged.tensors.front().name) + R"("})");
  }
  if (reading.outputs.size() != judged.outputs.size()) {
    node.fail("has " + std::to_string(reading.outputs.size()) + " outputs, the case has " +
              std::to_string(judged.outputs.size()));
  }
  return std::move(reading.program);
}

}  // namespace ampgate::cases::files
