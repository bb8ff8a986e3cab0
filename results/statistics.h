// Medians of times and ratios of times, with intervals that take fresh processes, not calls, as the unit of
// chance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ampgate::results {

// One cell: a batch of calls, timed together. `time_ns` is the mean of one call.
struct Sample {
  int process = 0;
  int block = 0;  // position in time within the process; pairs the precisions of a case
  double time_ns = 0;
  std::int64_t calls = 1;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct Estimate {
  double value = 0;                  // the median: nanoseconds, or a ratio
  std::optional<Interval> interval;  // absent: `method` says why
  double mad = 0;  // median absolute deviation from the median, not scaled; of a ratio: of log t
  int samples = 0;
  int processes = 0;
  double lag1 = 0;                // autocorrelation of neighbouring blocks within processes
  std::optional<double> lag1_p;   // probability of that much or more without any; absent: too few blocks
  double drift = 0;               // relative change per block within processes (Theil-Sen slope)
  std::optional<double> drift_p;  // probability of such a trend, up or down, without any
  std::string method;             // how the interval was made, or why there is none
};

// Median time of one call over all samples. The interval is Student's t over the medians of processes on log
// scale, widened to hold the value: a process is a sample, so processes are what is resampled, and their
// blocks come along whole. Throws std::invalid_argument for no samples, a time that is not finite and
// positive, two samples of one process and block, or a level outside (0, 1).
Estimate median_time(std::span<const Sample> samples, double level);

// Median of t_numerator / t_denominator over the blocks that both have, on log t, so that A:B and B:A are
// reciprocals. A speed-up over fp32 is paired_ratio(fp32, x). Throws as median_time does; no common block
// counts as no samples.
Estimate paired_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level);

// Median of the numerator over median of the denominator for samples that share no process: two runs. The
// interval is Welch's over the medians of processes on log scale; absent where either has one process only,
// since what differs between processes cannot be seen there. `lag1`, `drift` and `mad` are not filled in.
Estimate unpaired_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level);

// The same for two runs whose processes took turns, where `process` of a sample counts the turns: the centre
// of the differences of the medians of processes that stood beside each other, on log scale, so that what
// both share (the machine's own speed wanders by more than code does) cancels. The interval is that of the
// signed-rank test, by Student's t where there are too few turns for it. Throws as median_time does; no
// common turn counts as no samples.
Estimate turns_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level);

// Level of the interval at look 1, 2, 3... when a run looks more than once and may stop at any of them: look
// k spends 1 / (k (k + 1)) of what may be missed, and these shares add up to one (Bonferroni). A run that
// looks once uses the full level. Throws std::invalid_argument.
double level_at_look(double level, int look);

// Blocks over all processes together at look 1, 2, 3...: 20, 30, 45, 68, 102, half as many again each time
// (rounded up). Throws std::invalid_argument for a look below 1 or so late that the number does not fit.
int blocks_at_look(int look);

// The largest rate that `count` hits in `trials` leave possible (Clopper and Pearson, one-sided): hits with a
// rate above it give so few with a probability below 1 - level. No hit in n trials: about 3 / n at 0.95.
// Throws std::invalid_argument unless 0 <= count <= trials, trials > 0 and 0 < level < 1.
double rate_upper_limit(std::int64_t count, std::int64_t trials, double level);

// Half of the interval's width over its value; infinity without an interval.
double relative_half_width(const Estimate& estimate);

}  // namespace ampgate::results
