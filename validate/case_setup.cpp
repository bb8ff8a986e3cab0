#include "validate/case_setup.h"

#include <ATen/ops/isfinite.h>

#include "cases/fills.h"
#include "validate/evidence.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

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
      oracle(references.get(original, precision::baseline(), at::kFloat).oracle),
      quality(session, definition, facts, original, oracle) {}

}  // namespace ampgate::validate
