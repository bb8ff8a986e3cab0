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

std::string sizes_text(const Outputs& outputs, std::size_t number) {
  return results::Json(outputs[number].sizes().vec()).dump();
}

// Bit patterns of NaN do not count.
bool same_values(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.eq(b).logical_or_(a.isnan().logical_and_(b.isnan())).all().item<bool>();
}

// Integers and bools have their own type in every precision. What the run cannot say stays as it is.
Outputs in_types_of_run(const Outputs& values, const State& inputs,
                        const std::function<Outputs(State&)>& run) {
  Outputs typed = values;
  try {
    State state = inputs;
    const Outputs own = run(state);
    for (std::size_t i = 0; i < typed.size(); ++i) {
      const auto type = own.at(i).scalar_type();
      if (!c10::isIntegralType(type, /*includeBool=*/true)) continue;
      const at::Tensor whole = typed[i].to(type);
      if (same_values(whole.to(at::kDouble), typed[i])) typed[i] = whole;
    }
  } catch (const c10::Error&) {
    return values;
  }
  return typed;
}

}  // namespace

std::function<Outputs(const State&)> read_expected(const Node& node, const Document& document,
                                                   const std::vector<std::string>& outputs,
                                                   const Outputs& like, std::function<State()> inputs,
                                                   std::function<Outputs(State&)> run) {
  auto object = node.object();
  auto values = std::make_shared<Outputs>();
  for (const std::string& name : outputs) {
    const Node given = node.member(object, name);
    values->push_back(exact_values(given, document));
    const std::size_t i = values->size() - 1;
    if (i >= like.size() || values->back().sizes() == like[i].sizes()) continue;
    given.fail("has sizes " + sizes_text(*values, i) + ", and the operators give " + sizes_text(like, i));
  }
  object.refuse_unknown();
  return [values, inputs = std::move(inputs), run = std::move(run)](const State& state) {
    const State given = inputs();
    for (std::size_t i = 0; i < given.tensors.size(); ++i) {
      const at::Tensor seen = state[i].to(at::kDouble);
      const at::Tensor original = given[i].to(at::kDouble);
      if (same_values(seen.cpu(), original)) continue;
      C10_THROW_ERROR(NotImplementedError,
                      "the expected values are for the inputs as the case file gives them, and in this "
                      "precision '" +
                          given.tensors[i].name + "' is rounded to others: give inputs that its type holds");
    }
    return in_types_of_run(*values, given, run);
  };
}

}  // namespace ampgate::cases::files
