#include "validate/reference.h"

namespace ampgate::validate {

References::References(const results::Rules& rules, const cases::Case& definition, const cases::Facts& facts,
                       const cases::State& original)
    : rules_(rules), definition_(definition), facts_(facts), original_(original) {}

const Reference& References::get(const cases::State& prepared, const precision::Precision& precision,
                                 c10::ScalarType output_type) {
  RoundedInputs inputs = rounded_inputs(definition_, original_, prepared, precision, output_type);
  const auto key = std::pair(inputs.operand_type, output_type);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;

  Reference reference{std::move(inputs), {}, {}};
  reference.oracle = oracle(definition_, reference.inputs.state);
  if (has_bound(facts_.bound.family)) {
    const auto evaluate = [this](const cases::State& state) { return oracle(definition_, state); };
    const BoundContext context{"case " + definition_.name, evaluate,  facts_.bound, reference.inputs.state,
                               reference.oracle,           key.first, output_type,  rules_};
    for (std::size_t output = 0; output < reference.oracle.size(); ++output) {
      reference.bounds.push_back(error_bound(context, output));
    }
  }
  return made_.emplace(key, std::move(reference)).first->second;
}

}  // namespace ampgate::validate
