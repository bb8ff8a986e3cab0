// The one way in which a trial runs, in both phases: the run that decides the verdict is the run that is
// timed.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>

#include "cases/case.h"
#include "precision/autocast.h"
#include "precision/precision.h"

namespace ampgate::cases {

// A copy of the state on `device` in the precision's storage type: floating tensors converted for kCast, as
// they are otherwise; integer and bool tensors only moved. Tensors never require gradients.
State prepare(const State& original, const precision::Precision& precision, c10::Device device);

// Every floating tensor in `type`, on the CPU; for oracles.
State converted(const State& original, c10::ScalarType type);

// One run of `body`: one autocast scope per call where the precision asks for it. The caller holds an
// at::NoGradGuard.
inline Outputs execute(const std::function<Outputs(State&)>& body, State& prepared,
                       const precision::Precision& precision, c10::DeviceType device) {
  if (precision.mode != precision::Mode::kAutocast) return body(prepared);
  const precision::AutocastScope scope(device, precision.type);
  return body(prepared);
}

// The case's own run.
inline Outputs execute(const Case& definition, State& prepared, const precision::Precision& precision,
                       c10::DeviceType device) {
  return execute(definition.run, prepared, precision, device);
}

// Bytes that one run writes at least: its outputs, in the types that it gave them.
double written_bytes(const Outputs& outputs);

// Bytes that one run must move at least: what it reads of its tensors as stored, each once, and its outputs.
double least_bytes(const Facts& facts, const State& prepared, const Outputs& outputs);

}  // namespace ampgate::cases
