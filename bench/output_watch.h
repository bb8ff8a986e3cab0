// The outputs of the timed calls themselves: of each cell's last call, looked at after its clock has stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cell.h"
#include "bench/look_budget.h"
#include "cases/case.h"
#include "results/json.h"

namespace ampgate::bench {

class OutputWatch {
 public:
  // `evidence` outlives the object.
  OutputWatch(const cases::Case& definition, const results::Json& evidence)
      : definition_(&definition), evidence_(&evidence) {}

  // The outputs of a call before anything is timed: checked against the evidence, and kept where later ones
  // are compared with them. Empty, or what is wrong.
  std::string begin(const cases::Outputs& outputs);

  // Checks the outputs of a cell's last call, where the budget allows it or `must` is set. Empty, or what is
  // wrong.
  std::string look(const Cell& cell, bool must);

  // The same for outputs of an untimed call.
  std::string look(const cases::Outputs& outputs);

  std::int64_t cells() const { return cells_; }  // that were looked at

 private:
  const cases::Case* definition_;
  const results::Json* evidence_;
  cases::Outputs reference_;
  LookBudget budget_;
  std::int64_t cells_ = 0;
};

// How many calls are made, untimed and back to back, before one whose outputs are looked at: a kernel may be
// right in the last call of every cell and wrong in others. Seeded; at most an eighth of a cell each.
// The second batch is one call more than a multiple of six, so that the two looks differ in every alternation
// of two or three calls.
std::vector<std::int64_t> check_batches(std::uint64_t seed, std::string_view trial, int process,
                                        std::int64_t calls_per_cell);

}  // namespace ampgate::bench
