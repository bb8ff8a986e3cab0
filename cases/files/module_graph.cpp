#include "cases/files/module_graph.h"

#include <ATen/core/enum_tag.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "cases/files/library.h"
#include "cases/schemas.h"

namespace ampgate::cases::files {
namespace {

using torch::jit::AttributeKind;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::toIValue;
namespace attr = c10::attr;
namespace prim = c10::prim;

template <std::size_t size>
using Names = std::array<std::string_view, size>;

constexpr Names<18> kReads{"aten::item",           "aten::Bool",        "aten::Int",
                           "aten::Float",          "aten::IntImplicit", "aten::FloatImplicit",
                           "aten::ScalarImplicit", "aten::is_nonzero",  "aten::equal",
                           "aten::allclose",       "aten::nonzero",     "aten::masked_select",
                           "aten::argwhere",       "aten::_unique2",    "aten::unique_dim",
                           "aten::bincount",       "prim::tolist",      "aten::nonzero_numpy"};

template <std::size_t size>
bool holds(const Names<size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_mode(const Node& node) { return node.kind() == prim::GetAttr && node.s(attr::name) == "training"; }

bool is_floating_constant(const Node& node) {
  return node.kind() == prim::Constant && node.hasAttribute(attr::value) &&
         node.kindOf(attr::value) == AttributeKind::t && node.t(attr::value).is_floating_point();
}

// `forward` with everything that it calls in one graph, and branches that the mode decides gone.
std::shared_ptr<Graph> whole_graph(const torch::jit::Module& module, bool training) {
  auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  for_each_node(*graph->block(), [&](Node& node) {
    if (!is_mode(node)) return;
    const torch::jit::WithInsertPoint before(&node);
    node.output()->replaceAllUsesWith(graph->insertConstant(training));
  });
  torch::jit::ConstantPropagationImmutableTypes(graph);
  return graph;
}

std::optional<c10::IValue> argument(const Node& node, const char* name) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  const auto number = schema == nullptr ? std::nullopt : schema->argumentIndexWithName(name);
  if (!number || static_cast<std::size_t>(*number) >= node.inputs().size()) return {};
  return toIValue(node.input(static_cast<std::size_t>(*number)));
}

// The number of the input by which the code asks for a floating type by name.
std::optional<std::size_t> type_argument(const Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  const auto number = schema == nullptr ? std::nullopt : schema->argumentIndexWithName("dtype");
  if (!number || static_cast<std::size_t>(*number) >= node.inputs().size()) return {};
  const auto type = toIValue(node.input(static_cast<std::size_t>(*number)));
  if (!type || !type->isInt() || !c10::isFloatingType(static_cast<at::ScalarType>(type->toInt()))) return {};
  return static_cast<std::size_t>(*number);
}

// Operators with a dropout draw nothing where it is 0, or where they are told not to train.
bool draws(const Node& node) {
  const auto* op = node.maybeOperator();
  if (op == nullptr) return false;
  const auto tags = op->getTags();
  if (std::find(tags.begin(), tags.end(), at::Tag::nondeterministic_seeded) == tags.end()) return false;
  for (const char* name : {"p", "dropout_p", "dropout"}) {
    const auto p = argument(node, name);
    if (p && p->isDouble() && p->toDouble() == 0.0) return false;
  }
  for (const char* name : {"train", "training"}) {
    const auto train = argument(node, name);
    if (train && train->isBool() && !train->toBool()) return false;
  }
  return true;
}

std::string problem_of(const Node& node) {
  const std::string name = node.kind().toQualString();
  if (draws(node))
    return name + " draws random numbers, which are others in every type: give them to forward as an input";
  if (node.kind() == prim::SetAttr)
    return "a call changes its attribute '" + node.s(attr::name) + "': a second call would be another one";
  if (node.kind() == prim::fork || node.kind() == prim::awaitable)
    return name + " runs a part of it on another thread, where nobody can follow its types";
  return {};
}

}  // namespace

std::vector<std::shared_ptr<Graph>> graphs_of(const torch::jit::Module& module) {
  std::vector<std::shared_ptr<Graph>> graphs;
  for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
    function->ensure_defined();
    if (auto* own = torch::jit::tryToGraphFunction(*function)) graphs.push_back(own->graph());
  }
  return graphs;
}

void for_each_node(Block& block, const std::function<void(Node&)>& visit) {
  const std::vector<Node*> nodes(block.nodes().begin(), block.nodes().end());
  for (Node* node : nodes) {
    for (Block* inner : node->blocks()) for_each_node(*inner, visit);
    visit(*node);
  }
}

std::string why_unfit(const torch::jit::Module& module, bool training) {
  std::string problem;
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      const std::string name = node.kind().toQualString();
      if (problem.empty() && reaches_beyond(name))
        problem = "its code calls " + name + ", which reaches beyond the model";
    });
  }
  const auto graph = whole_graph(module, training);
  for_each_node(*graph->block(), [&](Node& node) {
    if (problem.empty()) problem = problem_of(node);
  });
  return problem;
}

bool reads_mode(const torch::jit::Module& module) {
  bool reads = false;
  for (const auto& graph : graphs_of(module))
    for_each_node(*graph->block(), [&](Node& node) { reads = reads || is_mode(node); });
  return reads;
}

std::vector<std::string> value_reads(const torch::jit::Module& module) {
  std::set<std::string> found;
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      const std::string name = node.kind().toQualString();
      if (holds(kReads, name)) found.insert(name);
    });
  }
  return {found.begin(), found.end()};
}

bool has_constant_weights(const torch::jit::Module& module) {
  bool found = false;
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      found = found || (is_floating_constant(node) && node.t(attr::value).dim() > 0);
    });
  }
  return found;
}

void avoid_fused_paths(const torch::jit::Module& module) {
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      const std::string_view name = node.kind().toQualString();
      if (name != "aten::is_autocast_enabled" && name != "aten::is_autocast_cpu_enabled") return;
      const torch::jit::WithInsertPoint before(&node);
      node.output()->replaceAllUsesWith(graph->insertConstant(true));
    });
  }
}

bool calls_foreign_operators(const torch::jit::Module& module) {
  bool found = false;
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      const c10::FunctionSchema* schema = node.maybeSchema();
      if (schema == nullptr) return;
      const auto op = c10::Dispatcher::singleton().findSchema(schema->operator_name());
      found = found || (op && is_foreign(*op));
    });
  }
  return found;
}

std::vector<at::ScalarType> low_types_asked_for(const torch::jit::Module& module) {
  std::set<at::ScalarType> found;
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      const auto number = type_argument(node);
      if (!number) return;
      const auto type = static_cast<at::ScalarType>(toIValue(node.input(*number))->toInt());
      if (c10::isReducedFloatingType(type)) found.insert(type);
    });
  }
  return {found.begin(), found.end()};
}

void ask_for_fp64(const torch::jit::Module& module) {
  for (const auto& graph : graphs_of(module)) {
    for_each_node(*graph->block(), [&](Node& node) {
      if (is_floating_constant(node)) {
        node.t_(attr::value, node.t(attr::value).to(at::kDouble));
        node.output()->inferTypeFrom(node.t(attr::value));
      } else if (const auto number = type_argument(node)) {
        const torch::jit::WithInsertPoint before(&node);
        node.replaceInput(*number, graph->insertConstant(static_cast<std::int64_t>(at::kDouble)));
      }
    });
  }
}

}  // namespace ampgate::cases::files
