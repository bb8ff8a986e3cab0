// Time per update that was really applied: a training that skips steps pays for them, too.
#pragma once

#include <cstdint>
#include <vector>

#include "results/journal.h"
#include "results/samples.h"

namespace ampgate::results {

struct StepCounts {
  std::int64_t iterations = 0;  // steps in the cells that the numbers rest on
  std::int64_t applied = 0;     // those in which every optimizer that was called updated its weights
};

// Of a trial that trains; both are 0 for others.
StepCounts step_counts(const std::vector<Row>& rows);

// The same samples with the time of one applied update: that of a step times iterations over applied ones,
// over all cells together. Empty where no update was applied.
std::vector<Sample> per_applied_update(std::vector<Sample> samples, const StepCounts& counts);

// {"first_step", "steps", "iterations", "applied_updates", "reads", "time_per_applied_update_ns", "in_words"}
// of a trial whose bench processes answered `answer`, with what is missing in `absent`.
Json training_steps(const Json& answer, const StepCounts& counts, const std::vector<Sample>& samples,
                    double level);

}  // namespace ampgate::results
