#include "cases/files/module_case.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cases/files/find_operator.h"
#include "cases/files/model_facts.h"
#include "cases/files/module_graph.h"
#include "cases/files/module_runs.h"

namespace ampgate::cases::files {
namespace {

using c10::TypeKind;

std::string schema_text(const torch::jit::Module& module) {
  return text(module.get_method("forward").function().getSchema());
}

// "mode": "eval" or "train".
bool read_training(const Document& document) {
  const auto mode = document.optional("mode");
  if (!mode) return false;
  const std::string word = mode->string();
  if (word == "train") return true;
  if (word == "eval") return false;
  mode->fail("unknown mode; " + results::suggestion(word, {"eval", "train"}));
}

bool read_optimised(const Document& document) {
  const auto executor = document.optional("executor");
  if (!executor) return true;
  const std::string word = executor->string();
  if (word == "optimised") return true;
  if (word == "unoptimised") return false;
  executor->fail("unknown executor; " + results::suggestion(word, {"optimised", "unoptimised"}));
}

void check_module(const Document& document, const ModuleFile& file, const torch::jit::Module& module,
                  bool training) {
  if (!module.find_method("forward")) file.fail("has no method forward", "give it one: that is what runs");
  if (training && !reads_mode(module)) {
    document.member("mode").fail(
        "train changes nothing in this module: it was traced or frozen, or has no part that trains "
        "otherwise; leave it out");
  }
  const std::string problem = why_unfit(module, training);
  if (!problem.empty()) {
    const bool trains = training && why_unfit(module, false).empty();
    file.fail(problem, trains ? R"(say "mode": "eval")" : "change the model, and save it again");
  }
}

bool takes_tensor(const c10::TypePtr& type) {
  if (type->kind() == TypeKind::TensorType) return true;
  return type->kind() == TypeKind::OptionalType &&
         type->expectRef<c10::OptionalType>().getElementType()->kind() == TypeKind::TensorType;
}

// The inputs by the names of forward's arguments.
std::vector<ModuleArgument> match_arguments(const Document& document, const torch::jit::Module& module,
                                            const std::vector<ModelTensor>& inputs) {
  const auto& declared = module.get_method("forward").function().getSchema().arguments();
  const Node node = document.member("inputs");
  auto object = node.object();
  std::vector<std::string> known;
  for (std::size_t i = 1; i < declared.size(); ++i) known.push_back(declared[i].name());
  for (const auto& [name, spec] : inputs) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      node.member(object, name)
          .fail("forward has no argument of that name; " + results::suggestion(name, known) + "\n  " +
                schema_text(module));
    }
  }
  std::vector<ModuleArgument> arguments;
  for (std::size_t i = 1; i < declared.size(); ++i) {
    const auto& argument = declared[i];
    const auto given = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const ModelTensor& input) { return input.name == argument.name(); });
    if (given != inputs.end()) {
      if (!takes_tensor(argument.type())) {
        node.member(object, argument.name())
            .fail("forward takes " + argument.type()->annotation_str() +
                  " there, no tensor: a case file gives tensors, and leaves other arguments to their "
                  "defaults\n  " +
                  schema_text(module));
      }
      arguments.push_back({static_cast<std::size_t>(given - inputs.begin()), {}});
    } else if (argument.default_value()) {
      arguments.push_back({{}, *argument.default_value()});
    } else if (argument.type()->kind() == TypeKind::OptionalType) {
      arguments.push_back({});
    } else {
      node.fail("argument '" + argument.name() + "' (" + argument.type()->annotation_str() +
                ") of forward is missing\n  " + schema_text(module));
    }
  }
  return arguments;
}

// What forward declares that it returns; none where only a run would tell.
std::optional<std::size_t> declared_outputs(const torch::jit::Module& module) {
  const auto& returns = module.get_method("forward").function().getSchema().returns();
  const c10::TypePtr type = returns.front().type();
  if (type->kind() == TypeKind::TensorType) return 1;
  if (type->kind() != TypeKind::TupleType) return {};
  const auto elements = type->expectRef<c10::TupleType>().elements();
  const bool tensors = std::all_of(elements.begin(), elements.end(), [](const c10::TypePtr& element) {
    return element->kind() == TypeKind::TensorType;
  });
  return tensors ? std::optional(elements.size()) : std::nullopt;
}

std::vector<std::string> read_outputs(const Document& document, const torch::jit::Module& module) {
  const auto declared = declared_outputs(module);
  const auto given = document.optional("outputs");
  std::vector<std::string> names;
  if (!given) {
    if (!declared) document.root().fail("name what forward returns in \"outputs\"\n  " + schema_text(module));
    for (std::size_t i = 0; i < *declared; ++i) names.push_back(i == 0 ? "out" : "out" + std::to_string(i));
    return names;
  }
  for (const Node& item : given->items()) {
    names.push_back(item.string());
    if (names.back().empty()) item.fail("must not be empty");
    if (std::count(names.begin(), names.end(), names.back()) > 1) item.fail("stands there twice");
  }
  if (names.empty()) given->fail("names no output: there is nothing to judge");
  if (declared && *declared != names.size()) {
    given->fail("names " + std::to_string(names.size()) + " outputs, forward returns " +
                std::to_string(*declared) + "\n  " + schema_text(module));
  }
  return names;
}

bool is_plain(const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  const bool known = type == at::kFloat || type == at::kDouble || type == at::kHalf ||
                     type == at::kBFloat16 || c10::isIntegralType(type, /*includeBool=*/true);
  return known && tensor.layout() == at::kStrided && !tensor.is_quantized();
}

void check_weights(const ModuleFile& file, const std::vector<ModuleWeight>& weights) {
  for (const auto& weight : weights) {
    if (is_plain(weight.tensor)) continue;
    file.fail("its tensor '" + weight.places.front().name() + "' is " + weight.tensor.toString() +
                  ", and only dense real numbers can be judged",
              "save it without quantisation or sparse weights");
  }
}

void check_names(const Document& document, const std::vector<ModelTensor>& tensors,
                 const std::vector<ModuleWeight>& weights) {
  std::set<std::string> taken;
  for (const auto& weight : weights) taken.insert(weight.places.front().name());
  for (const auto& [name, spec] : tensors) {
    if (!taken.insert(name).second)
      document.root().fail("two tensors are called '" + name + "': one of inputs, data and the module's own");
  }
}

at::Tensor as_set_up(const at::Tensor& tensor, const Fill& fill) {
  const auto type = tensor.is_floating_point() ? at::kFloat : tensor.scalar_type();
  if (fill.kind() == FillKind::kNone) return at::empty(tensor.sizes(), at::device(at::kMeta).dtype(type));
  return tensor.detach().to(at::kCPU, type, false, /*copy=*/true).contiguous();
}

State set_up(const std::vector<ModelTensor>& tensors, const std::vector<ModuleWeight>& weights,
             const Fill& fill) {
  State state;
  for (const auto& [name, spec] : tensors) state.tensors.push_back({name, make(spec, name, fill)});
  for (const auto& weight : weights) {
    state.tensors.push_back({weight.places.front().name(), as_set_up(weight.tensor, fill), Role::kWeight});
  }
  return state;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool has_floating(const std::vector<ModuleWeight>& weights) {
  return std::any_of(weights.begin(), weights.end(),
                     [](const ModuleWeight& weight) { return weight.tensor.is_floating_point(); });
}

}  // namespace

Case module_case(const Document& document, const std::string& member) {
  const Node named = document.member(member);
  const auto path = document.path(named.string());
  const ModuleFile file(path);
  if (!document.surroundings().may_interpret(path)) {
    named.fail("is a program, which runs only where the command line names it: add --load-library " +
               path.string() + ", or name the folder that holds both by --case-file");
  }
  document.surroundings().used->push_back(path);
  const torch::jit::Module module = file.load();
  const bool training = read_training(document);
  check_module(document, file, module, training);

  auto tensors = read_tensors(document, "inputs");
  const std::size_t inputs = tensors.size();
  ModuleCall call{.file = file, .training = training, .optimised = read_optimised(document)};
  call.arguments = match_arguments(document, module, tensors);
  call.outputs = read_outputs(document, module);
  call.weights = weights_of(module);
  check_weights(file, call.weights);
  for (auto& entry : read_tensors(document, "data")) tensors.push_back(std::move(entry));
  call.first_weight = tensors.size();
  check_names(document, tensors, call.weights);

  Case definition = document.common();
  ModelFacts said = read_model_facts(document, call.outputs, tensors, inputs);
  if (const auto reads = value_reads(module); said.facts.reads.empty() && !reads.empty())
    said.facts.reads = "the model's code reads values by " + joined(reads);
  definition.minimum_accuracy = said.minimum_accuracy;
  definition.maximum_rmse = said.maximum_rmse;
  definition.facts = [facts = said.facts](const Shape&) { return facts; };
  definition.model = true;
  definition.outputs = call.outputs;
  definition.own_types = low_types_asked_for(module);
  definition.shape_prefix = tensors.empty() ? "fixed" : shape_name(tensors.front().spec.sizes);
  if (!has_floating(call.weights) && has_constant_weights(module)) {
    for (const char* name : {"cast-fp16", "cast-bf16"}) {
      definition.unsupported[name] =
          "its weights are constants of its graph, as in a frozen module, which converting its parameters "
          "does not reach: save it without torch.jit.freeze";
    }
  }
  definition.setup = [tensors, weights = call.weights](const Shape&, const Fill& fill) {
    return set_up(tensors, weights, fill);
  };
  const auto runs = std::make_shared<ModuleRuns>(std::move(call));
  definition.run = [runs](State& state) { return runs->timed(state); };
  definition.observed_run = [runs](State& state) { return runs->observed(state); };
  definition.observed_as = "TorchScript without its optimiser";
  definition.reference_run = definition.observed_run;
  definition.foreign = calls_foreign_operators(module);
  if (definition.foreign) definition.unproven = definition.reference_run;
  return definition;
}

}  // namespace ampgate::cases::files
