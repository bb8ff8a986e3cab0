// What a verdict leaves behind and phase 2 demands again, as docs/protocol.md describes it.
#pragma once

#include "cases/case.h"
#include "precision/precision.h"
#include "results/json.h"
#include "validate/bounds.h"
#include "validate/sample.h"
#include "validate/session.h"
#include "validate/trial_run.h"

namespace ampgate::validate {

// Digests of the FP32 tensors as set up: {"inputs": {name: digest}, "weights": {…}}.
results::Json input_digests(const cases::State& original);

// RN(y - E), RN(y + E) and the output itself at seeded positions of one output; `count` positions, or all
// when there are no more. For the whole of it, what two right outputs may differ by: at most, and in the root
// mean square. `oracle` and `bound` are those of the sample; the positions count in the whole
// output.
results::Json output_check(const std::string& name, const at::Tensor& oracle, const Bound& bound,
                           const at::Tensor& output, const Sample& sample, std::int64_t count,
                           std::uint64_t seed, bool hard);

// Everything but `operators` and `checks`.
results::Json evidence(const Session& session, const cases::Case& definition, const cases::Shape& shape,
                       const precision::Precision& precision, const results::Json& input_digests,
                       const TrialRun& run);

}  // namespace ampgate::validate
