#include "cases/files/package_case.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <memory>

#include "cases/files/model_facts.h"
#include "cases/files/module_case.h"
#include "cases/files/package.h"
#include "precision/formats.h"

namespace ampgate::cases::files {
namespace {

constexpr auto kAllocates = "compiled code asks for its memory itself";
constexpr auto kOpaque =
    "a package is compiled code that calls no operators: where in it an error or a bad value begins cannot "
    "be said";

struct Packages {
  std::shared_ptr<Package> baseline;
  std::shared_ptr<Package> trial;  // null: there is none
  std::string precision{};         // of the trial
  std::size_t inputs = 0;          // the state's first tensors, in the order of the package's inputs
};

std::shared_ptr<Package> open(const Document& document, const char* member) {
  const Node node = document.member(member);
  const auto path = document.path(node.string());
  if (!document.surroundings().may_run(path)) {
    node.fail("is machine code, which runs only where the command line names it: add --load-library " +
              path.string());
  }
  document.surroundings().used->push_back(path);
  return std::make_shared<Package>(path);
}

Packages read_packages(const Document& document) {
  Packages packages;
  packages.baseline = open(document, document.has("package") ? "package" : "baseline_package");
  if (document.has("trial_package")) {
    if (document.has("package"))
      document.member("package").fail(
          "is alone: a \"trial_package\" is compared with a \"baseline_package\"");
    packages.trial = open(document, "trial_package");
    const Node precision = document.member("trial_precision");
    packages.precision = precision.string();
    if (packages.precision != "cast-fp16" && packages.precision != "cast-bf16")
      precision.fail("a package is compiled for one type: cast-fp16 or cast-bf16");
  }
  if (document.has("precisions"))
    document.member("precisions").fail("the packages say in which precisions they run: leave it out");
  if (document.has("reduction_length"))
    document.member("reduction_length")
        .fail("a package calls no operators that it could be said of: leave it out");
  if (document.has("executor")) document.member("executor").fail("a package has none: leave it out");
  return packages;
}

bool is_trial(const State& state) {
  return std::any_of(state.tensors.begin(), state.tensors.end(),
                     [](const auto& entry) { return precision::is_16_bit(entry.tensor.scalar_type()); });
}

Outputs run(const Packages& packages, const State& state) {
  std::vector<at::Tensor> inputs;
  for (std::size_t i = 0; i < packages.inputs; ++i) inputs.push_back(state[i]);
  Package& package = packages.trial && is_trial(state) ? *packages.trial : *packages.baseline;
  const auto results = package.run(inputs);
  return {results.begin(), results.end()};
}

// The FP32 package on these values, as the oracle of what is compared with it.
Outputs run_as_oracle(const Packages& packages, const State& state) {
  State fp32 = state;
  const c10::Device device(packages.baseline->device());
  for (auto& entry : fp32.tensors) {
    const bool floating = entry.tensor.is_floating_point();
    entry.tensor = entry.tensor.to(device, floating ? at::kFloat : entry.tensor.scalar_type());
  }
  Outputs outputs = run(packages, fp32);
  for (auto& output : outputs) {
    output = output.to(at::kCPU);
    if (output.is_floating_point()) output = output.to(at::kDouble);
  }
  return outputs;
}

void refuse_without_module(const Document& document, const Packages& packages) {
  if (!packages.trial) {
    document.root().fail(
        "nothing to judge the package by: give \"trial_package\", or \"reference_module\", the same model as "
        "TorchScript");
  }
  for (const char* member : {"data", "decisions", "targets", "minimum_accuracy", "maximum_rmse"}) {
    if (!document.has(member)) continue;
    document.member(member).fail(
        "needs \"reference_module\", the same model as TorchScript: what rounding explains is found by "
        "replaying the "
        "operators of a model, and a package has none");
  }
}

// A state without floating inputs would not say which precision it was prepared for.
void add_type(State& state, FillKind kind) {
  const bool floating = std::any_of(state.tensors.begin(), state.tensors.end(),
                                    [](const auto& entry) { return entry.tensor.is_floating_point(); });
  if (floating) return;
  const at::Tensor one = kind == FillKind::kNone ? at::empty({1}, at::device(at::kMeta)) : at::ones({1});
  state.tensors.push_back({"type", one, Role::kWeight});
}

// Two packages and nothing else: the FP32 one is what is right.
Case compared_case(const Document& document, const Packages& packages) {
  refuse_without_module(document, packages);
  const auto tensors = read_tensors(document, "inputs");
  Case definition = document.common();
  for (const Node& item : document.member("outputs").items()) definition.outputs.push_back(item.string());
  if (definition.outputs.empty())
    document.member("outputs").fail("names no output: there is nothing to judge");
  ModelFacts said = read_model_facts(document, definition.outputs, tensors, tensors.size());
  const Node limit = document.member("maximum_relative_error");
  said.facts.bound = {.family = Family::kRelative, .eps = limit.number()};
  if (!(said.facts.bound.eps > 0.0 && said.facts.bound.eps < 1.0))
    limit.fail("must be a share of the output's RMS, between 0 and 1");
  definition.facts = [facts = said.facts](const Shape&) { return facts; };
  definition.shape_prefix = tensors.empty() ? "fixed" : shape_name(tensors.front().spec.sizes);
  definition.setup = [tensors](const Shape&, const Fill& fill) {
    State state;
    for (const auto& [name, spec] : tensors) state.tensors.push_back({name, make(spec, name, fill)});
    add_type(state, fill.kind());
    return state;
  };
  definition.reference_run = [packages](State& state) { return run_as_oracle(packages, state); };
  return definition;
}

}  // namespace

Case package_case(const Document& document) {
  Packages packages = read_packages(document);
  packages.inputs = document.member("inputs").object().keys().size();
  const bool with_module = document.has("reference_module");
  Case definition =
      with_module ? module_case(document, "reference_module") : compared_case(document, packages);
  definition.run = [packages](State& state) { return run(packages, state); };
  if (with_module) definition.observed_as = "the TorchScript module without its optimiser";
  definition.opaque = kOpaque;
  definition.precisions = {packages.trial ? packages.precision : std::string("fp32")};
  definition.facts = [facts = definition.facts](const Shape& shape) {
    Facts own = facts(shape);
    own.allocates = kAllocates;
    return own;
  };
  definition.missing_kernel = [packages](c10::DeviceType device) {
    const std::string wanted = c10::DeviceTypeName(device, /*lower_case=*/true);
    for (const auto& package : {packages.baseline, packages.trial}) {
      if (package && package->device() != wanted)
        return "a package was compiled for " + package->device() + ", not for " + wanted;
    }
    return std::string();
  };
  return definition;
}

}  // namespace ampgate::cases::files
