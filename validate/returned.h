// What a run gave back, before anything looks into it: as many outputs as the case names, each a tensor on
// the trial's device, of the sizes and the kind of type that the oracle has.
#pragma once

#include <c10/core/Device.h>

#include <stdexcept>

#include "cases/case.h"

namespace ampgate::validate {

// The outputs cannot be compared with anything: `inaccurate`.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `like` are right outputs, or empty where nothing is known but the case's names. Throws OutputError that
// names the output.
void check_returned(const cases::Case& definition, const cases::Outputs& outputs, c10::Device device,
                    const cases::Outputs& like);

// Throws OutputError for an output that is the memory of one of the case's own tensors: then nothing was
// computed there. Gradients may be: that of a sum is what came in.
void check_computed(const cases::Case& definition, const cases::Outputs& outputs, const cases::State& state);

}  // namespace ampgate::validate
