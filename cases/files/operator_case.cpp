#include "cases/files/operator_case.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cases/files/expected.h"
#include "cases/files/kernels.h"
#include "cases/files/read_program.h"

namespace ampgate::cases::files {
namespace {

constexpr auto kDomain = "the inputs of the case file";

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

// Some operators cannot be called on tensors without values: then the sizes of their outputs are not known.
Outputs outputs_on(const Program& program, const State& state, bool sizes_only) {
  try {
    return program.forward(state);
  } catch (const c10::Error&) {
    if (!sizes_only) throw;
    return {};
  }
}

// The gradients that the floating outputs have, ordinary numbers of the outputs' sizes.
void add_cotangents(const ReadProgram& built, const Fill& fill, State& state) {
  const Fill ordinary = fill.with(fill.kind() == FillKind::kNone ? FillKind::kNone : FillKind::kOrdinary);
  const Outputs outputs = outputs_on(built.program, state, fill.kind() == FillKind::kNone);
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

// The program in FP64 by which the case is judged: the file's reference, else its own operators.
void add_oracle(const Document& document, const ReadProgram& built, Case& definition) {
  const auto run_of = [](const Program& program) {
    return [exact = std::make_shared<const Program>(program.in_fp64())](State& state) {
      return exact->run(state);
    };
  };
  const auto reference = document.optional("reference");
  definition.foreign = built.program.is_foreign();
  // A model's errors are predicted by its own operators in FP64.
  if (definition.foreign && (!reference || definition.model)) definition.unproven = run_of(built.program);
  if (!reference) {
    definition.reference_run = run_of(built.program);
    return;
  }
  if (document.has("expected")) reference->fail("and \"expected\" exclude each other: give one of them");
  Program program = read_reference(*reference, document, built);
  if (program.is_foreign())
    reference->fail("calls an operator of a library: what it is judged by must not need its help");
  program.differentiated = built.program.differentiated;
  program.first_cotangent = built.program.first_cotangent;
  definition.reference_run = run_of(program);
}

Case case_of(const Document& document, const ReadProgram& made, const Said& said) {
  const auto built = std::make_shared<const ReadProgram>(made);
  Case definition = document.common();
  definition.shape_prefix = built->tensors.empty() ? "fixed" : shape_name(built->tensors.front().spec.sizes);
  definition.outputs = built->outputs;
  for (const std::size_t number : built->program.differentiated)
    definition.outputs.push_back("grad." + built->tensors[number].name);
  definition.differentiates = built->program.backward();
  definition.model = definition.differentiates || built->program.steps.size() > 1;
  definition.own_types = built->program.low_types_asked_for();
  if (!definition.model) {
    definition.call = {built, &built->program.steps.front().call};
  }
  definition.setup = [built](const Shape&, const Fill& fill) {
    State state = built->state(fill);
    if (built->program.backward()) add_cotangents(*built, fill, state);
    return state;
  };
  definition.run = [built](State& state) { return built->program.run(state); };
  definition.missing_kernel = [built](c10::DeviceType device) {
    return missing_kernel(built->program, device);
  };
  add_oracle(document, *built, definition);
  definition.facts = [facts = facts_of(definition, said)](const Shape&) { return facts; };
  if (const auto expected = document.optional("expected")) {
    if (definition.differentiates)
      expected->fail("gradients have no expected values: leave \"backward\" out");
    for (const auto& [name, spec] : built->tensors) {
      if (spec.seeded)
        expected->fail("belongs to one set of inputs, and '" + name + "' is drawn by the seed");
    }
    // Not all operators can say the sizes of their outputs without values. Nothing of a library runs here.
    const Fill fill(0, definition.name, "");
    const Outputs like =
        built->program.is_foreign() ? Outputs() : outputs_on(built->program, built->state(fill), true);
    definition.expected = read_expected(
        *expected, document, built->outputs, like,
        [built, name = definition.name] { return built->state(Fill(0, name, "")); }, definition.run);
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

void read_layouts(const Node& node, const Document& document, const ReadProgram& built, const Said& said,
                  std::vector<Case>& cases) {
  cases.clear();
  for (const Node& item : node.items()) {
    const auto layout = read_layout(item);
    ReadProgram variant = built;
    if (layout) variant.tensors = laid_out(std::move(variant.tensors), *layout);
    const bool any = std::any_of(variant.tensors.begin(), variant.tensors.end(),
                                 [&](const Names::Tensor& tensor) { return tensor.spec.layout == layout; });
    if (layout && !any) item.fail("no floating tensor has the dimensions for it");
    cases.push_back(case_of(document, variant, said));
    if (layout) cases.back().name += "." + std::string(layout_name(*layout));
  }
  if (cases.empty()) node.fail("names no layout");
}

}  // namespace

std::vector<Case> operator_cases(const Document& document) {
  ReadProgram built = read_program(document);
  check_fits(built, document);
  const auto backward = document.optional("backward");
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
