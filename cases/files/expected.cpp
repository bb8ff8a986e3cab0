#include "cases/files/expected.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <memory>

namespace ampgate::cases::files {
namespace {

// As FP64: exact values must not be rounded to FP32, whatever type the file says.
at::Tensor exact_values(const Node& node, const Document& document) {
  auto object = node.object();
  if (object.has("fill") || object.has("layout") || object.has("requires_grad"))
    node.fail(R"(expected values are given in full: "values", or "file" with "tensor")");
  const TensorSpec spec = read_tensor(node, document.surroundings(), Holding::kWhole);
  return spec.values(Fill(0, document.name(), ""), "expected");
}

}  // namespace

std::function<Outputs(const State&)> read_expected(const Node& node, const Document& document,
                                                   const std::vector<std::string>& outputs,
                                                   std::function<State()> inputs) {
  auto object = node.object();
  auto values = std::make_shared<Outputs>();
  for (const std::string& name : outputs)
    values->push_back(exact_values(node.member(object, name), document));
  object.refuse_unknown();
  return [values, inputs = std::move(inputs)](const State& state) {
    const State given = inputs();
    for (std::size_t i = 0; i < given.tensors.size(); ++i) {
      const at::Tensor seen = state[i].to(at::kDouble);
      const at::Tensor original = given[i].to(at::kDouble);
      if (seen.sizes() == original.sizes() && at::equal(seen.cpu(), original)) continue;
      C10_THROW_ERROR(NotImplementedError,
                      "the expected values are for the inputs as the case file gives them, and in this "
                      "precision '" +
                          given.tensors[i].name + "' is rounded to others: give inputs that its type holds");
    }
    return *values;
  };
}

}  // namespace ampgate::cases::files
