// What this worker sees itself, in the shape of the evidence, for the gate.
#pragma once

#include "backends/backend.h"
#include "bench/plan.h"
#include "cases/case.h"
#include "results/json.h"

namespace ampgate::bench {

// What all trials of a case and shape have in common: device, libtorch, build, case, shape, seed, rules, and
// `digests`, those of the FP32 tensors of `original`, in their order.
results::Json observe_group(const Plan& plan, const backends::Backend& backend, const cases::Case& definition,
                            const cases::Shape& shape, const cases::State& original,
                            const std::vector<std::string>& digests);

// Settings as they are now that decide a result; in the mode `default-malloc` without those of the allocator,
// which decide times alone.
results::Json observed_settings(Mode mode);

// The same with the trial's precision, and the settings as they are within its numerics scope: all of those
// that must be the validation's in this mode.
results::Json observe_trial(results::Json group, const precision::Precision& precision, Mode mode);

}  // namespace ampgate::bench
