#include "validate/case_setup.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <exception>
#include <string>

#include "cases/execute.h"
#include "cases/fills.h"
#include "cases/independent.h"
#include "results/error.h"
#include "validate/case_fault.h"
#include "validate/elements.h"
#include "validate/evidence.h"
#include "validate/failure.h"
#include "validate/finite.h"
#include "validate/oracle.h"
#include "validate/oracle_proof.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using Sizes = std::vector<std::vector<std::int64_t>>;

std::string place(const std::string& name, const at::Tensor& tensor, const FiniteScan& scan) {
  return "'" + name + text(position_of(scan.first, tensor.sizes())) + "'";
}

cases::State set_up(const Session& session, const cases::Case& definition, const cases::Shape& shape) {
  try {
    return definition.setup(shape, cases::Fill(session.seed, definition.name, shape.name));
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const results::Error&) {
    throw;  // what the environment lacks, no case has at fault
  } catch (const c10::Error& error) {
    if (!is_refusal(error)) throw;  // memory that there is not, say
    throw CaseFault(std::string("its set-up failed: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw CaseFault(std::string("its set-up failed: ") + error.what());
  }
}

// The axes that it calls independent must be there: slices are taken along them.
void check_axes(const cases::Facts& facts, const cases::State& state) {
  for (const auto& axis : facts.independent) {
    if (axis.operands.empty()) throw CaseFault("an independent axis names no tensor");
    std::int64_t size = -1;
    for (const auto& [tensor, dim] : axis.operands) {
      const bool there = tensor < state.tensors.size() && dim >= 0 && dim < state[tensor].dim();
      const std::string named = "an independent axis names dimension " + std::to_string(dim) + " of tensor " +
                                std::to_string(tensor);
      if (!there) throw CaseFault(named + ", which is not there");
      if (size >= 0 && state[tensor].size(dim) != size)
        throw CaseFault(named + ", whose size differs from that of the tensors it is sliced with");
      size = state[tensor].size(dim);
    }
  }
}

// Whoever writes a case file may ask what an operator makes of NaN and infinity.
bool takes_any_value(const cases::Case& definition) {
  return !definition.file_sha256.empty() && !definition.model;
}

cases::State checked(const cases::Case& definition, cases::State state, const cases::Facts& facts) {
  check_axes(facts, state);
  check_reach_in_fp64(definition, state);
  if (takes_any_value(definition)) return state;
  for (const auto& entry : state.tensors) {
    const FiniteScan scan = scan_finite(entry.tensor);
    if (scan.finite()) continue;
    throw CaseFault("its ordinary input " + place(entry.name, entry.tensor, scan) +
                    " is not finite; it is judged for " + facts.domain);
  }
  return state;
}

void check_oracle(const cases::Case& definition, const cases::Outputs& oracle, const cases::Facts& facts) {
  if (takes_any_value(definition)) return;
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    const FiniteScan scan = scan_finite(oracle[i]);
    if (scan.finite()) continue;
    throw CaseFault("in FP64 its output " + place(definition.outputs[i], oracle[i], scan) + " is " +
                    text(oracle[i].flatten().select(0, scan.first).item<double>()) +
                    " though every input is finite (" + std::to_string(scan.nans + scan.infinities) + " of " +
                    std::to_string(scan.elements) + " elements); it is judged for " + facts.domain);
  }
}

at::Tensor finite_values(const at::Tensor& tensor) {
  return at::nan_to_num(tensor.to(at::kDouble), 0.0, 0.0, 0.0);
}

// NaN and infinities in the same places, and all else within the tolerance.
bool agree(const at::Tensor& a, const at::Tensor& b, const at::Tensor& tolerance) {
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  return at::equal(at::isnan(x), at::isnan(y)) && at::equal(at::isposinf(x), at::isposinf(y)) &&
         at::equal(at::isneginf(x), at::isneginf(y)) &&
         (finite_values(x) - finite_values(y)).abs().le(tolerance).all().item<bool>();
}

// A slice computed alone is the slice of the whole, in FP64 but for its rounding, which a variance in one
// pass enlarges (1e-8 at a mean of 10^4 standard deviations).
void check_independence(const cases::Case& definition, const cases::Facts& facts,
                        const cases::State& original, const cases::Outputs& whole) {
  constexpr double kTolerance = 1e-6;
  for (const auto& axis : facts.independent) {
    const auto& [tensor, dim] = axis.operands.front();
    if (original[tensor].size(dim) < 2) continue;
    const at::Tensor first = at::zeros({1}, at::kLong);
    const cases::State slice = cases::converted(cases::select(original, axis, first), at::kDouble);
    const cases::Outputs alone = oracle(definition, slice);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i].numel() == 0) continue;
      const at::Tensor expected = cases::select(whole[i], axis, first);
      const at::Tensor scale = finite_values(whole[i]).abs().amax();
      if (alone[i].sizes() == expected.sizes() && agree(alone[i], expected, scale * kTolerance)) continue;
      throw CaseFault("its output " + definition.outputs[i] + " is not independent along dimension " +
                      std::to_string(axis.output_dim) + ": in FP64 a slice computed alone differs");
    }
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
      original(checked(definition, set_up(session, definition, shape), definition.facts(shape))),
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
  if (!oracle.empty()) check_fp64(definition, original, oracle);
  if (!oracle.empty()) check_independence(definition, facts, original, oracle);
  if (const std::string problem = why_unfit(facts, original, oracle); !problem.empty())
    throw CaseFault(problem);
}

}  // namespace ampgate::validate
