#include "validate/case_setup.h"

#include <ATen/ops/zeros.h>

#include "cases/fills.h"
#include "validate/case_fault.h"
#include "validate/elements.h"
#include "validate/evidence.h"
#include "validate/finite.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using Sizes = std::vector<std::vector<std::int64_t>>;

std::string place(const std::string& name, const at::Tensor& tensor, const FiniteScan& scan) {
  return "'" + name + text(position_of(scan.first, tensor.sizes())) + "'";
}

cases::State checked(cases::State state, const cases::Facts& facts) {
  for (const auto& entry : state.tensors) {
    const FiniteScan scan = scan_finite(entry.tensor);
    if (scan.finite()) continue;
    throw CaseFault("its ordinary input " + place(entry.name, entry.tensor, scan) +
                    " is not finite; it is judged for " + facts.domain);
  }
  return state;
}

void check_oracle(const cases::Case& definition, const cases::Outputs& oracle, const cases::Facts& facts) {
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    const FiniteScan scan = scan_finite(oracle[i]);
    if (scan.finite()) continue;
    throw CaseFault("in FP64 its output " + place(definition.outputs[i], oracle[i], scan) + " is " +
                    text(oracle[i].flatten().select(0, scan.first).item<double>()) +
                    " though every input is finite (" + std::to_string(scan.nans + scan.infinities) + " of " +
                    std::to_string(scan.elements) + " elements); it is judged for " + facts.domain);
  }
}

Sizes sizes_to_sample(const cases::Case& definition, const cases::Facts& facts,
                      const cases::State& original) {
  if (definition.model || facts.independent.empty()) return {};
  return output_sizes(definition, facts, original);
}

cases::Outputs outputs_like(const cases::Outputs& oracle, const Sizes& sizes) {
  if (!oracle.empty()) return oracle;
  cases::Outputs outputs;
  for (const auto& size : sizes) outputs.push_back(at::zeros({}).expand(size));
  return outputs;
}

}  // namespace

CaseSetup::CaseSetup(const Session& session_, const cases::Case& definition_, cases::Shape shape_)
    : session(session_),
      definition(definition_),
      shape(std::move(shape_)),
      original(checked(definition.setup(shape, cases::Fill(session.seed, definition.name, shape.name)),
                       definition.facts(shape))),
      facts(definition.facts(shape)),
      digests(input_digests(original)),
      references(session.rules, definition, facts, original),
      sizes(sizes_to_sample(definition, facts, original)),
      sample(sizes.empty() ? Sample() : choose_sample(facts, sizes.front(), session.seed)),
      oracle(sample.whole() ? references.get(original, precision::baseline(), at::kFloat).oracle
                            : cases::Outputs()),
      like(outputs_like(oracle, sizes)),
      quality(session, definition, facts, original, oracle) {
  check_oracle(definition, oracle, facts);
  if (const std::string problem = why_unfit(facts, original, oracle); !problem.empty())
    throw CaseFault(problem);
}

}  // namespace ampgate::validate
