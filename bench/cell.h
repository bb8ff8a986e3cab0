// One cell: n calls of one trial, timed together by the device's own timer, as one run of Google Benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/body.h"
#include "cases/case.h"

namespace ampgate::bench {

struct Cell {
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;  // of all calls together
  std::int64_t page_faults = 0;
  std::vector<std::int64_t> call_times_ns{};  // of each call, where each was timed by itself
  cases::Outputs outputs{};                   // of the last call
  std::optional<std::int64_t> applied{};      // updates that its calls applied, where they train
};

// How the calls of a cell are timed: all between two readings of the clock, or each between its own two,
// after the caches were emptied by reading `flush` where it is given.
struct CellPlan {
  std::int64_t calls = 1;
  bool each_call = false;
  backends::MemoryPasses* flush = nullptr;  // only with each_call
};

// n calls (at least 1), each one's outputs destroyed before the next; those of the last are returned. Where
// calls change the body's state, they go on from where it is.
cases::Outputs run_calls(Body& body, std::int64_t calls);

struct TimedCalls {
  std::int64_t time_ns = 0;
  cases::Outputs outputs{};  // of the last call
};

// The same, timed. `previous`, outputs of a call before, are destroyed when the clock runs, so that as many
// calls' outputs are destroyed inside it as calls are made, and those of the last one are there to be looked
// at. Throws what the body throws, and std::runtime_error when the clock went backwards.
TimedCalls time_calls(Body& body, std::int64_t calls, backends::Timer& timer, cases::Outputs previous);

// The body prepared, untimed lead-in calls, then the cell. `name` is the benchmark's. Throws what time_calls
// throws.
Cell run_cell(const std::string& name, Body& body, const CellPlan& plan, backends::Backend& backend,
              backends::Timer& timer);

// Shortest time that the timer reports for nothing at all.
std::int64_t clock_time_ns(backends::Timer& timer);

}  // namespace ampgate::bench
