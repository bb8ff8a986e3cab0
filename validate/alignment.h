// Which calls of two runs of one case belong together, where the operators that it calls depend on the type.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "validate/replay.h"

namespace ampgate::validate {

// For each name of `run` the number of its partner in `recorded`; none for those that `recorded` lacks. The
// partners are a longest common subsequence.
std::vector<std::optional<std::size_t>> align(const std::vector<std::string>& run,
                                              const std::vector<std::string>& recorded);

// One call of the case in FP64.
struct PairedCall {
  std::string name;
  const RecordedCall* partner;  // null where the trial does not make it
};

struct ExactRun {
  std::vector<PairedCall> calls;
  cases::Outputs outputs;
};

// One plain run in FP64: its calls, with their partners among those of the trial (`recorded`, which outlives
// the result), and what it gave. Throws NoPrediction as `replay` does.
ExactRun run_exactly(const cases::Case& definition, cases::State fp64,
                     const std::vector<RecordedCall>& recorded);

}  // namespace ampgate::validate
