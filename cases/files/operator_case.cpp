#include "cases/files/operator_case.h"

#include <ATen/core/enum_tag.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cases/files/argument_reader.h"
#include "cases/files/expected.h"
#include "cases/files/kernels.h"
#include "cases/files/program.h"
#include "cases/schemas.h"

namespace ampgate::cases::files {
namespace {

using results::Json;

constexpr auto kDomain = "the inputs of the case file";

struct Reading {
  explicit Reading(const Document& document) : names(document.surroundings()) {}
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

void read_sequence(const Document& document, Reading& reading) {
  const Node operators = document.member("operators");
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
  const Node outputs = document.member("outputs");
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

// "8x1024": the sizes of the first tensor.
std::string shape_name(const std::vector<Names::Tensor>& tensors) {
  if (tensors.empty()) return "fixed";
  std::string name;
  for (const std::int64_t size : tensors.front().spec.sizes)
    name += (name.empty() ? "" : "x") + std::to_string(size);
  return name.empty() ? "scalar" : name;
}

// All floating tensors, where the file does not choose.
std::vector<std::size_t> differentiated(const Node& backward, const std::vector<Names::Tensor>& tensors) {
  std::vector<std::size_t> chosen, floating;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].spec.type != at::kFloat) continue;
    floating.push_back(i);
    if (tensors[i].spec.requires_grad) chosen.push_back(i);
  }
  if (floating.empty()) backward.fail("there is no floating tensor to differentiate by");
  return chosen.empty() ? floating : chosen;
}

struct Built {
  std::vector<Names::Tensor> tensors;
  Program program;
  std::vector<std::string> outputs;
};

State tensors_of(const Built& built, const Fill& fill) {
  State state;
  for (const auto& [name, spec] : built.tensors) {
    state.tensors.push_back({name, make(spec, name, fill), spec.weight ? Role::kWeight : Role::kInput});
  }
  return state;
}

// The gradients that the floating outputs have, ordinary numbers of the outputs' sizes.
void add_cotangents(const Built& built, const Fill& fill, State& state) {
  const Fill ordinary = fill.with(fill.kind() == FillKind::kNone ? FillKind::kNone : FillKind::kOrdinary);
  const Outputs outputs = built.program.forward(state);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    const std::string name = "cotangent." + built.outputs.at(i);
    state.tensors.push_back({name, ordinary.normal(name, outputs[i].sizes())});
  }
}

// What a file says of its case that nothing else could say.
struct Said {
  double flops = 0.0;
  std::int64_t length = 0;  // of reductions; 0: it does not say
  std::string reads{};
};

Facts facts_of(const Case& definition, const Said& said) {
  Facts facts;
  facts.flops = said.flops;
  facts.bound = {.family = definition.model ? Family::kModel : Family::kCall, .length = said.length};
  facts.reads = said.reads;
  facts.domain = kDomain;
  facts.makes = "what the operators make that the case file names";
  if (definition.differentiates) facts.makes += ", and autograd";
  return facts;
}

Said read_said(const Document& document) {
  Said said;
  if (const auto flops = document.optional("flops")) {
    said.flops = flops->number();
    if (!(said.flops >= 0.0 && std::isfinite(said.flops))) flops->fail("must be a number of at least 0");
  }
  if (const auto length = document.optional("reduction_length")) said.length = length->integer(1);
  if (const auto reads = document.optional("reads")) said.reads = reads->string();
  return said;
}

// `layout`: of the floating tensors that have the dimensions for it and no layout of their own.
std::vector<Names::Tensor> laid_out(std::vector<Names::Tensor> tensors, Layout layout) {
  for (auto& [name, spec] : tensors) {
    const bool can = can_lie(at::empty(spec.sizes, at::device(at::kMeta)), layout);
    if (spec.type == at::kFloat && !spec.layout && can) spec.layout = layout;
  }
  return tensors;
}

Case case_of(const Document& document, const Built& made, const Said& said) {
  const auto built = std::make_shared<const Built>(made);
  const auto exact = std::make_shared<const Program>(built->program.in_fp64());
  Case definition = document.common();
  definition.shape_prefix = shape_name(built->tensors);
  definition.outputs = built->outputs;
  for (const std::size_t number : built->program.differentiated)
    definition.outputs.push_back("grad." + built->tensors[number].name);
  definition.differentiates = built->program.backward();
  definition.model = definition.differentiates || built->program.steps.size() > 1;
  if (!definition.model) {
    definition.call = {built, &built->program.steps.front().call};
  }
  definition.setup = [built](const Shape&, const Fill& fill) {
    State state = tensors_of(*built, fill);
    if (built->program.backward()) add_cotangents(*built, fill, state);
    return state;
  };
  definition.run = [built](State& state) { return built->program.run(state); };
  definition.reference_run = [exact](State& state) { return exact->run(state); };
  definition.missing_kernel = [built](c10::DeviceType device) {
    return missing_kernel(built->program, device);
  };
  definition.facts = [facts = facts_of(definition, said)](const Shape&) { return facts; };
  if (const auto expected = document.optional("expected")) {
    if (definition.differentiates)
      expected->fail("gradients have no expected values: leave \"backward\" out");
    for (const auto& [name, spec] : built->tensors) {
      if (spec.seeded)
        expected->fail("belongs to one set of inputs, and '" + name + "' is drawn by the seed");
    }
    definition.expected = read_expected(*expected, document, built->outputs, [built, name = definition.name] {
      return tensors_of(*built, Fill(0, name, ""));
    });
  }
  return definition;
}

// One case for each number of threads.
std::vector<Case> with_threads(const Node& node, const std::vector<Case>& cases) {
  std::vector<Case> variants;
  for (const Node& item : node.items()) {
    const auto threads = static_cast<int>(item.integer(1, 4096));
    for (Case variant : cases) {
      variant.threads = threads;
      variant.name += ".threads" + std::to_string(threads);
      variants.push_back(std::move(variant));
    }
  }
  if (variants.empty()) node.fail("names no number of threads");
  return variants;
}

void read_layouts(const Node& node, const Document& document, const Built& built, const Said& said,
                  std::vector<Case>& cases) {
  cases.clear();
  for (const Node& item : node.items()) {
    const auto layout = read_layout(item);
    Built variant = built;
    if (layout) variant.tensors = laid_out(std::move(variant.tensors), *layout);
    cases.push_back(case_of(document, variant, said));
    if (layout) cases.back().name += "." + std::string(layout_name(*layout));
  }
  if (cases.empty()) node.fail("names no layout");
}

}  // namespace

std::vector<Case> operator_cases(const Document& document) {
  Reading reading(document);
  read_named_tensors(document, reading);
  document.has("operators") ? read_sequence(document, reading) : read_single(document, reading);

  const auto backward = document.optional("backward");
  Built built{reading.names.tensors(), std::move(reading.program), std::move(reading.outputs)};
  if (backward && backward->boolean()) {
    built.program.differentiated = differentiated(*backward, built.tensors);
    built.program.first_cotangent = built.tensors.size();
  }
  const Said said = read_said(document);
  std::vector<Case> cases{case_of(document, built, said)};
  if (const auto layouts = document.optional("layouts")) read_layouts(*layouts, document, built, said, cases);
  if (const auto threads = document.optional("threads")) cases = with_threads(*threads, cases);
  return cases;
}

}  // namespace ampgate::cases::files
