#include "bench/output_watch.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "bench/output_check.h"
#include "bench/schedule.h"

namespace ampgate::bench {

std::string OutputWatch::begin(const cases::Outputs& outputs) {
  std::string problem = changed_output(*definition_, outputs, *evidence_);
  if (!problem.empty()) return "before anything was timed, " + problem;
  if (check_method(*evidence_) == CheckMethod::kDigest) return "";
  // A copy: the body may hand out memory that it writes to again.
  reference_.clear();
  for (const auto& output : outputs) reference_.push_back(output.detach().clone());
  return "";
}

std::string OutputWatch::look(const Cell& cell, bool must) {
  if (!must && !budget_.allows(cell.time_ns)) return "";
  ++cells_;
  return look(cell.outputs);
}

std::string OutputWatch::look(const cases::Outputs& outputs) {
  return budget_.spend([&] {
    std::string problem = changed_output(*definition_, outputs, *evidence_);
    if (problem.empty() && !reference_.empty())
      problem = strayed_output(*definition_, outputs, reference_, *evidence_);
    return problem;
  });
}

std::vector<std::int64_t> check_batches(std::uint64_t seed, std::string_view trial, int process,
                                        std::int64_t calls_per_cell) {
  constexpr std::int64_t kShare = 8, kPeriods = 2 * 3;
  const auto longest = static_cast<std::size_t>(std::max<std::int64_t>(2, calls_per_cell / kShare));
  const auto any = [&](int number) {
    return 1 + static_cast<std::int64_t>(block_order(seed, trial, process, number, longest).front());
  };
  const std::int64_t second = any(1);
  return {any(0), second - (second - 1) % kPeriods};
}

}  // namespace ampgate::bench
