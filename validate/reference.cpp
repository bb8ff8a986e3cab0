#include "validate/reference.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "precision/formats.h"
#include "validate/case_fault.h"
#include "validate/elements.h"
#include "validate/failure.h"
#include "validate/local/call_bound.h"
#include "validate/local/readings.h"

namespace ampgate::validate {
namespace {

bool fits(const cases::Outputs& other, const cases::Outputs& oracle) {
  if (other.size() != oracle.size()) return false;
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (other[i].sizes() != oracle[i].sizes() || other[i].scalar_type() != oracle[i].scalar_type())
      return false;
  }
  return true;
}

// NaN is at no distance from NaN, nor an infinity from its like.
at::Tensor distance(const at::Tensor& value, const at::Tensor& output) {
  const at::Tensor same = value.eq(output).logical_or_(value.isnan().logical_and_(output.isnan()));
  return at::nan_to_num((value.to(at::kDouble) - output).abs_(), INFINITY).masked_fill_(same, 0.0);
}

at::Tensor chosen(const at::Tensor& here, const at::Tensor& other, const at::Tensor& own) {
  return own.defined() && other.defined() ? at::where(here, other, own).contiguous() : own;
}

// Takes `other` where `here` says so.
void take(const Reference::Other& other, const at::Tensor& here, std::size_t number, Reference& reference) {
  reference.oracle[number] = chosen(here, other.oracle[number], reference.oracle[number]);
  Bound& own = reference.bounds[number];
  const Bound& bound = other.bounds[number];
  own.error = chosen(here, bound.error, own.error);
  own.hard = chosen(here, bound.hard, own.hard);
  own.jumps = chosen(here, bound.jumps, own.jumps);
  own.rms_limit = std::max(own.rms_limit, bound.rms_limit);
  own.rms_hard = std::max(own.rms_hard, bound.rms_hard);
}

// What of an output no rounding explains.
at::Tensor outside(const Reference& reference, const at::Tensor& output, c10::ScalarType type,
                   std::size_t number) {
  const at::Tensor& y = reference.oracle[number];
  const at::Tensor apart = distance(y, output);
  const at::Tensor& error = reference.bounds[number].error;
  if (!error.defined()) return apart.gt(0.0);
  return apart.gt(error + y.abs() * precision::format_of(type).unit_roundoff()).logical_or_(apart.isinf());
}

// The reading that explains most of the output, as a whole: of each element the nearest would round to one
// side.
void take_best(const at::Tensor& output, c10::ScalarType type, std::size_t number, Reference& reference) {
  const auto unexplained = [&](const Reference& candidate) {
    return std::pair(outside(candidate, output, type, number).sum().item<std::int64_t>(),
                     finite_rms(distance(candidate.oracle[number], output)));
  };
  auto least = unexplained(reference);
  const at::Tensor everywhere = at::ones_like(output, at::kBool);
  Reference best = reference;
  for (const auto& other : reference.others) {
    Reference candidate = reference;
    take(other, everywhere, number, candidate);
    if (const auto count = unexplained(candidate); count < least) {
      least = count;
      best = std::move(candidate);
    }
  }
  reference = std::move(best);
}

}  // namespace

Reference nearest(Reference reference, const at::Tensor& output, std::size_t number) {
  if (output.sizes() != reference.oracle[number].sizes() || reference.bounds.empty()) return reference;
  const at::Tensor out = output.detach().cpu().to(at::kDouble);
  if (!reference.others.empty()) {
    const auto type = output.is_floating_point() ? output.scalar_type() : at::kDouble;
    take_best(out, type, number, reference);
    // Kernels may read numbers in one way at the end of a row and in another before.
    for (const auto& other : reference.others) {
      const at::Tensor& y = reference.oracle[number];
      const at::Tensor nearer = distance(other.oracle[number], out).lt(distance(y, out));
      take(other, nearer.logical_and_(outside(reference, out, type, number)), number, reference);
    }
  }
  if (const at::Tensor& jumps = reference.bounds[number].jumps; jumps.defined()) {
    at::Tensor& y = reference.oracle[number];
    const at::Tensor beside = (out - y).abs_().le(jumps).logical_and_(jumps.gt(0.0));
    y = at::where(beside, out, y).contiguous();
  }
  return reference;
}

References::References(const results::Rules& rules, const cases::Case& definition, const cases::Facts& facts,
                       const cases::State& original)
    : rules_(rules), definition_(definition), facts_(facts), original_(original) {}

std::vector<Bound> References::bounds(const cases::OperatorCall* call, const BoundContext& context) const {
  std::vector<Bound> bounds;
  for (std::size_t output = 0; output < context.oracle.size(); ++output) {
    // Integers are compared exactly.
    if (!context.oracle[output].is_floating_point()) {
      bounds.emplace_back();
    } else {
      bounds.push_back(context.spec.family == cases::Family::kCall ? local::call_bound(*call, context, output)
                                                                   : error_bound(context, output));
    }
  }
  return bounds;
}

void References::add_others(c10::ScalarType output_type, Reference& reference) const {
  if (!definition_.call || definition_.expected || definition_.model) return;
  const cases::State& state = reference.inputs.state;
  // Comparisons give no type away: theirs is that of their operands.
  const bool floating = std::any_of(reference.oracle.begin(), reference.oracle.end(),
                                    [](const at::Tensor& output) { return output.is_floating_point(); });
  const c10::ScalarType type = floating ? output_type : reference.inputs.operand_type;
  for (const auto& reading : local::other_readings(*definition_.call, type)) {
    static_cast<void>(catch_failure([&] {
      Reference::Other other{reading.evaluate(state), {}};
      if (!fits(other.oracle, reference.oracle)) return;
      other.bounds =
          bounds(&reading.call, {"case " + definition_.name, reading.evaluate, facts_.bound, state,
                                 other.oracle, reference.inputs.operand_type, output_type, rules_});
      reference.others.push_back(std::move(other));
    }));
  }
}

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
    try {
      reference.bounds = bounds(definition_.call.get(),
                                {"case " + definition_.name, evaluate, facts_.bound, reference.inputs.state,
                                 reference.oracle, operand_type, output_type, rules_});
    } catch (const std::logic_error& error) {
      throw CaseFault(std::string("its facts do not fit its tensors: ") + error.what());
    }
    add_others(output_type, reference);
  }
  return made_.emplace(key, std::move(reference)).first->second;
}

}  // namespace ampgate::validate
