#include "validate/case_setup.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include "cases/fills.h"
#include "validate/evidence.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using Sizes = std::vector<std::vector<std::int64_t>>;

cases::State checked(cases::State state, const cases::Facts& facts) {
  for (const auto& entry : state.tensors) {
    if (!entry.tensor.is_floating_point()) continue;
    const at::Tensor bad = at::isfinite(entry.tensor).logical_not();
    if (!bad.any().item<bool>()) continue;
    const at::Tensor first = bad.nonzero()[0].to(at::kLong).contiguous();
    const auto* index = first.const_data_ptr<std::int64_t>();
    throw InputError("ordinary input '" + entry.name + text(std::vector(index, index + first.numel())) +
                     "' is not finite; the case is judged for " + facts.domain);
  }
  return state;
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
      quality(session, definition, facts, original, oracle) {}

}  // namespace ampgate::validate
