// Tests the tolerance itself: wrong results that it must refuse. One that passes on all inputs of a case
// makes the whole check worthless.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

// Collects, kind of input by kind of input, what became of the mutants of one trial.
class Vacuity {
 public:
  // Tries, on each output, the rounded oracle as all zeros, as one constant, shifted by one element, with its
  // rows permuted, and as `stale`, elements of another case's output (undefined: none), cut or repeated to
  // its size. `rounded` are right outputs in their own types on the CPU; `accepts` judges a set of outputs. A
  // mutant that equals the right output (scalars, constants, zeros) is not applicable.
  void try_on(const std::string& input, const cases::Outputs& rounded, const cases::Case& definition,
              const at::Tensor& stale, const std::function<bool(const cases::Outputs&)>& accepts);

  // A mutant that was applicable and accepted on every input on which it was, in words with these inputs;
  // empty when there is none.
  std::string survivor() const;

 private:
  struct Fate {
    std::string mutant;
    bool refused = false;
    std::string accepted_on{};
  };
  Fate& fate_of(const std::string& mutant);

  std::vector<Fate> fates_;  // of applicable mutants, in the order in which they were tried
};

}  // namespace ampgate::validate
