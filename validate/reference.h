// What trials of one case and shape are judged against: oracles and bounds, made once for each pair of
// types and sample.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "validate/bounds.h"
#include "validate/oracle.h"
#include "validate/sample.h"

namespace ampgate::validate {

struct Reference {
  Sample sample;  // of the outputs; everything else is about this part
  RoundedInputs inputs;
  cases::Outputs oracle;      // FP64
  std::vector<Bound> bounds;  // one an output; empty for models
  // What is right as well, as kernels read numbers among the arguments in their own type (local/readings.h).
  struct Other {
    cases::Outputs oracle;
    std::vector<Bound> bounds;
  };
  std::vector<Other> others{};
};

// The reference as output number `number` is best explained: by one of the readings as a whole, by another
// one where that is not enough, and on the side of a jump on which `output` is.
Reference nearest(Reference reference, const at::Tensor& output, std::size_t number);

class References {
 public:
  // All arguments outlive the object.
  References(const results::Rules& rules, const cases::Case& definition, const cases::Facts& facts,
             const cases::State& original);

  // For outputs of `output_type` of a trial that ran on `prepared`. Trials whose operators saw the same
  // rounded values share one: a cast and an autocast to the same type round the same tensors in the same way.
  const Reference& get(const cases::State& prepared, const precision::Precision& precision,
                       c10::ScalarType output_type, const Sample& sample = {});

 private:
  std::vector<Bound> bounds(const cases::OperatorCall* call, const BoundContext& context) const;
  void add_others(c10::ScalarType output_type, Reference& reference) const;

  const results::Rules& rules_;
  const cases::Case& definition_;
  const cases::Facts& facts_;
  const cases::State& original_;
  // By operand type, output type and the positions of the sample.
  std::map<std::tuple<c10::ScalarType, c10::ScalarType, std::vector<Positions>>, Reference> made_;
};

}  // namespace ampgate::validate
