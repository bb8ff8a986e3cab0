// The operators of a case file, one after the other, as the body of a case.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/operator_call.h"

namespace ampgate::cases::files {

struct Step {
  OperatorCall call;
  std::size_t first_result;  // its results have the numbers from here on
  std::string region{};      // name of the FP32 island that it can be; empty: none
};

struct Program {
  std::vector<Step> steps;
  std::size_t results = 0;  // of all steps
  std::vector<ArgumentSource> outputs;
  // Backward: the state's tensors whose gradients are outputs as well, after the others. The gradients of the
  // floating outputs are the state's tensors from `first_cotangent` on.
  std::vector<std::size_t> differentiated{};
  std::size_t first_cotangent = 0;

  bool backward() const { return !differentiated.empty(); }
  // Does it call operators that a library of the user's brought?
  bool is_foreign() const;

  // Types of 16 bit that the file asks for by name.
  std::vector<c10::ScalarType> low_types_asked_for() const;

  // The first step that refuses `state` (by number), and what its operator says; none where all take it, or
  // have no kernel or no memory for it.
  struct Refusal {
    std::size_t step;
    std::string text;
  };
  std::optional<Refusal> refusal(const State& state) const;
  // The first step that writes to the memory of one of the state's tensors, by whatever view, and to which;
  // none where no step does, or the state cannot be run on.
  std::optional<Refusal> write_to(const State& state) const;

  // Tensors of lists stand for themselves. Throws what operators throw.
  Outputs forward(const State& state) const;
  // The body of the case: `forward`, and the gradients where they are asked for. The state's tensors of
  // `differentiated` require gradients from then on.
  Outputs run(State& state) const;

  // The same function for FP64: types that the file asks for by name are FP64's, and attention is by its
  // definition, since the fused kernel turns a NaN query into 0.
  Program in_fp64() const;
};

}  // namespace ampgate::cases::files
