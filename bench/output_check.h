// After the timed calls: does the trial still compute what phase 1 let through?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "results/json.h"

namespace ampgate::bench {

// By digest where fresh processes agreed bitwise, else by the validated limits at some positions.
enum class CheckMethod { kDigest, kBounds };

std::string_view to_string(CheckMethod method);

CheckMethod check_method(const results::Json& evidence);

// Empty when `evidence` has something to check every output of the case with; else what is missing.
std::string missing_outputs(const cases::Case& definition, const results::Json& evidence);

// Empty when the outputs are as `evidence` says; else the first difference: output, position, value and
// limits, or both digests. A limit of NaN asks for NaN.
std::string changed_output(const cases::Case& definition, const cases::Outputs& outputs,
                           const results::Json& evidence);

// The whole of each output against that of an earlier call of the same process, which `changed_output` found
// right: empty when masks of NaN and infinities are the same and no difference, nor their root mean square,
// is above what the evidence allows two right outputs. For the method kBounds: `changed_output` sees but a
// sample of the positions there.
std::string strayed_output(const cases::Case& definition, const cases::Outputs& outputs,
                           const cases::Outputs& before, const results::Json& evidence);

// Digests of the tensors of a state, in their order.
std::vector<std::string> state_digests(const cases::State& state);

// Name of the first tensor that is no longer what it was: an operator wrote what it should only read. Empty:
// none.
std::string changed_tensor(const cases::State& state, const std::vector<std::string>& digests_before);

}  // namespace ampgate::bench
