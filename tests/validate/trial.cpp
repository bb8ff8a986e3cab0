#include "trial.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <sstream>

#include "cases/execute.h"
#include "precision/formats.h"

namespace ampgate::validate {

Trial::Trial(const cases::Case& definition_, const std::vector<std::int64_t>& sizes, std::string_view name,
             std::uint64_t seed, cases::FillKind kind)
    : definition(definition_) {
  const at::NoGradGuard no_grad;
  const auto& precision = precision::find(name);
  const cases::Shape shape = definition.shape(sizes);
  facts = definition.facts(shape);
  original = definition.setup(shape, cases::Fill(seed, definition.name, shape.name, kind));
  prepared = cases::prepare(original, precision, at::kCPU);
  outputs = cases::execute(definition, prepared, precision, at::kCPU);
  inputs = rounded_inputs(definition, original, prepared, precision, outputs[0].scalar_type());
  oracle = validate::oracle(definition, inputs.state);
  const auto evaluate = [this](const cases::State& state) { return validate::oracle(definition, state); };
  bound = error_bound({definition.name, evaluate, facts.bound, inputs.state, oracle, inputs.operand_type,
                       outputs[0].scalar_type(), rules},
                      0);
}

Trial::Trial(const std::string& name, const std::vector<std::int64_t>& sizes, std::string_view precision,
             std::uint64_t seed, cases::FillKind fill)
    : Trial(cases::registry().at(name), sizes, precision, seed, fill) {}

at::Tensor Trial::rounded_oracle() const {
  return precision::round_tensor(oracle[0], outputs[0].scalar_type());
}

std::string describe(const Comparison& c) {
  std::ostringstream text;
  text << c.problem << " elements " << c.elements << " judged " << c.judged << " rejected " << c.rejected
       << " between " << c.between << " nan " << c.nan_mismatch << " inf " << c.inf_mismatch << " ill "
       << c.ill_conditioned << " margin " << c.margin << " at [";
  for (const auto i : c.position) text << ' ' << i;
  text << " ] expected " << c.expected << " actual " << c.actual << " bound " << c.bound << " ulp "
       << c.max_ulp;
  return text.str();
}

}  // namespace ampgate::validate
