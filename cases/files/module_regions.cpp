#include "cases/files/module_regions.h"

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cases/files/module_graph.h"
#include "precision/region.h"

namespace ampgate::cases::files {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Operator;
using torch::jit::Stack;
using torch::jit::Value;
namespace attr = c10::attr;
namespace prim = c10::prim;

constexpr auto kEnter = "ampgate::enter_region";
constexpr auto kLeave = "ampgate::leave_region";
constexpr auto kRaise = "ampgate::raise_in_island";

struct Frame {
  explicit Frame(std::string_view name) : scope(name) {
    if (precision::detail::in_island()) off.emplace();
  }
  precision::detail::RegionScope scope;
  std::optional<precision::NoAutocast> off{};
};

thread_local std::deque<Frame> frames;

// The name is a constant of the graph that runs, and stays as long as that.
void enter(Stack& stack) {
  const c10::IValue name = torch::jit::pop(stack);
  frames.emplace_back(name.toStringView());
}

void leave(Stack&) { frames.pop_back(); }

c10::IValue raised(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? precision::detail::to_float(tensor) : tensor;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector())
      list.push_back(precision::detail::to_float(tensor));
    return list;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const auto& element : value.toTupleRef().elements()) elements.push_back(raised(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  return value;
}

void raise_in_island(Stack& stack) {
  if (precision::detail::in_island()) stack.back() = raised(stack.back());
}

// Known to TorchScript alone: the dispatcher, and whoever watches it, does not see them.
const torch::jit::RegisterOperators operators({
    Operator("ampgate::enter_region(str name) -> ()", enter, c10::AliasAnalysisKind::CONSERVATIVE),
    Operator("ampgate::leave_region() -> ()", leave, c10::AliasAnalysisKind::CONSERVATIVE),
    Operator("ampgate::raise_in_island(t value) -> t", raise_in_island, c10::AliasAnalysisKind::CONSERVATIVE),
});

// Of a submodule of `self`; nothing for another object, empty for `self`.
std::optional<std::string> path_of(const Value* object, const Value* self) {
  std::string path;
  for (; object != self; object = object->node()->input()) {
    const Node* node = object->node();
    if (node->kind() != prim::GetAttr) return {};
    path = node->s(attr::name) + (path.empty() ? "" : "." + path);
  }
  return path;
}

void put_in_region(Node& call, const std::string& path) {
  Graph& graph = *call.owningGraph();
  const torch::jit::WithInsertPoint before(&call);
  graph.insertNode(graph.create(c10::Symbol::fromQualString(kEnter), {graph.insertConstant(path)}, 0));
  for (std::size_t i = 1; i < call.inputs().size(); ++i) {
    Value* given = call.input(i);
    Node* raise = graph.insertNode(graph.create(c10::Symbol::fromQualString(kRaise), {given}));
    raise->output()->setType(given->type());
    call.replaceInput(i, raise->output());
  }
  graph.create(c10::Symbol::fromQualString(kLeave), 0)->insertAfter(&call);
}

}  // namespace

void name_regions(const torch::jit::Module& module) {
  for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
    function->ensure_defined();
    auto* own = torch::jit::tryToGraphFunction(*function);
    if (own == nullptr) continue;
    own->_set_ignore_amp(true);
    if (own->graph()->inputs().size() == 0) continue;
    const Value* self = own->graph()->inputs()[0];
    for_each_node(*own->graph()->block(), [&](Node& node) {
      if (node.kind() != prim::CallMethod) return;
      const auto path = path_of(node.input(0), self);
      if (path && !path->empty()) put_in_region(node, *path);
    });
  }
}

RegionGuard::RegionGuard() : depth_(frames.size()) {}

RegionGuard::~RegionGuard() {
  while (frames.size() > depth_) frames.pop_back();
}

}  // namespace ampgate::cases::files
