// Which trial is next, and how often it is called: a seeded order that can be repeated, and cells of about
// equal length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ampgate::bench {

// A permutation of 0 .. trials-1. The same seed, group, process and block give the same order on every
// machine; every order is equally likely.
std::vector<std::size_t> block_order(std::uint64_t seed, std::string_view group, int process, int block,
                                     std::size_t trials);

// Of a cell: for bodies that do next to nothing.
inline constexpr std::int64_t kMaximumCalls = 1'000'000;

// A cell is at least this many times one reading of the clock, where it can have the calls for it.
inline constexpr std::int64_t kClockShare = 1000;

// Calls that make a cell last about `cell_time_ns`: at least 1, and enough that reading the clock
// (`clock_ns`) is at most 0.1 % of it. `time_calls(n)` runs n calls and returns their time; it is asked for
// growing n, up to `most`, until the time is long enough to extrapolate from, then again for the shortest of
// a few: one disturbed try must not make the cells of one precision shorter than those of another.
std::int64_t choose_calls(std::int64_t cell_time_ns, std::int64_t clock_ns,
                          const std::function<std::int64_t(std::int64_t)>& time_calls,
                          std::int64_t most = kMaximumCalls);

// Untimed calls before a cell: the trial that ran before has cooled the caches.
std::int64_t lead_in_calls(std::int64_t calls);

}  // namespace ampgate::bench
