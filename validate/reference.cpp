#include "validate/reference.h"

#include <stdexcept>
#include <string>

#include "validate/case_fault.h"
#include "validate/local/call_bound.h"

namespace ampgate::validate {
namespace {

Bound bound_of(const cases::Case& definition, const BoundContext& context, std::size_t output) {
  return context.spec.family == cases::Family::kCall ? local::call_bound(*definition.call, context, output)
                                                     : error_bound(context, output);
}

}  // namespace

References::References(const results::Rules& rules, const cases::Case& definition, const cases::Facts& facts,
                       const cases::State& original)
    : rules_(rules), definition_(definition), facts_(facts), original_(original) {}

const Reference& References::get(const cases::State& prepared, const precision::Precision& precision,
                                 c10::ScalarType output_type, const Sample& sample) {
  RoundedInputs inputs =
      rounded_inputs(definition_, sample.select(original_), sample.select(prepared), precision, output_type);
  std::vector<Positions> positions;
  for (const auto& axis : sample.axes()) positions.push_back(axis.positions);
  const auto operand_type = inputs.operand_type;
  const auto key = std::tuple(operand_type, output_type, std::move(positions));
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;

  Reference reference{sample, std::move(inputs), {}, {}};
  if (definition_.expected) {
    reference.oracle = definition_.expected(reference.inputs.state);
  } else {
    reference.oracle = oracle(definition_, reference.inputs.state);
    check_written(definition_, reference.inputs.state, reference.oracle,
                  sample.whole() ? "" : " (of those in the sample)");
  }
  if (has_bound(facts_.bound.family)) {
    const auto evaluate = [this](const cases::State& state) { return oracle(definition_, state); };
    const BoundContext context{"case " + definition_.name, evaluate,     facts_.bound, reference.inputs.state,
                               reference.oracle,           operand_type, output_type,  rules_};
    for (std::size_t output = 0; output < reference.oracle.size(); ++output) {
      // Integers are compared exactly.
      const bool floating = reference.oracle[output].is_floating_point();
      try {
        reference.bounds.push_back(floating ? bound_of(definition_, context, output) : Bound{});
      } catch (const std::logic_error& error) {
        throw CaseFault(std::string("its facts do not fit its tensors: ") + error.what());
      }
    }
  }
  return made_.emplace(key, std::move(reference)).first->second;
}

}  // namespace ampgate::validate
