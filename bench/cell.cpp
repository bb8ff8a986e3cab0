#include "bench/cell.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>

#include "bench/schedule.h"

namespace ampgate::bench {
namespace {

// Minor and major faults of all threads of this process so far.
std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Takes the one run of a cell; prints nothing.
class CellReporter : public benchmark::BenchmarkReporter {
 public:
  explicit CellReporter(Cell& cell) : cell_(cell) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      cell_.calls += run.iterations;
      cell_.time_ns += std::llround(run.real_accumulated_time * 1e9);
    }
  }

 private:
  Cell& cell_;
};

// One benchmark, for the life of the object.
class Registered {
 public:
  template <typename Function>
  Registered(const std::string& name, std::int64_t calls, Function&& function) {
    benchmark::RegisterBenchmark(name.c_str(), std::forward<Function>(function))
        ->Iterations(calls)
        ->Repetitions(1)
        ->UseManualTime();
  }
  ~Registered() { benchmark::ClearRegisteredBenchmarks(); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
};

}  // namespace

cases::Outputs run_calls(Body& body, std::int64_t calls) {
  for (std::int64_t i = 1; i < calls; ++i) body.call();
  return body.call();
}

TimedCalls time_calls(Body& body, std::int64_t calls, backends::Timer& timer, cases::Outputs previous) {
  timer.start();
  previous.clear();
  cases::Outputs last = run_calls(body, calls);
  timer.stop();
  const std::int64_t time_ns = timer.elapsed_ns();
  if (time_ns < 0) {
    throw std::runtime_error("the clock went backwards by " + std::to_string(-time_ns) + " ns while " +
                             std::to_string(calls) + " calls were timed");
  }
  return {time_ns, std::move(last)};
}

Cell run_cell(const std::string& name, Body& body, const CellPlan& plan, backends::Backend& backend,
              backends::Timer& timer) {
  Cell cell;
  std::exception_ptr failure;
  // One batch has one manual time, so that no call is needed to find a count.
  const std::int64_t batch = plan.each_call ? 1 : plan.calls;
  const Registered registered(name, plan.calls, [&](benchmark::State& state) {
    try {
      const std::int64_t lead_in = lead_in_calls(plan.calls);
      body.prepare(lead_in + plan.calls);
      cases::Outputs previous = run_calls(body, lead_in);
      const auto updates = body.updates();
      while (state.KeepRunningBatch(batch)) {
        if (plan.flush != nullptr) {
          plan.flush->read();
          backend.synchronize();
        }
        const std::int64_t faults_before = page_faults();
        TimedCalls timed = time_calls(body, batch, timer, std::move(previous));
        cell.page_faults += page_faults() - faults_before;
        if (plan.each_call) cell.call_times_ns.push_back(timed.time_ns);
        state.SetIterationTime(static_cast<double>(timed.time_ns) * 1e-9);
        previous = std::move(timed.outputs);
      }
      cell.outputs = std::move(previous);
      if (updates) cell.applied = *body.updates() - *updates;
    } catch (...) {
      failure = std::current_exception();
      state.SkipWithError("the body threw");
    }
  });
  CellReporter reporter(cell);
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, ".");
  if (failure) std::rethrow_exception(failure);
  if (cell.time_ns <= 0) {
    throw std::runtime_error("the clock stood still while " + std::to_string(cell.calls) +
                             " calls were timed");
  }
  if (cell.calls != plan.calls) {
    throw std::logic_error("Google Benchmark reports " + std::to_string(cell.calls) + " calls of " + name +
                           ", not " + std::to_string(plan.calls));
  }
  return cell;
}

std::int64_t clock_time_ns(backends::Timer& timer) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 100; ++i) {
    timer.start();
    timer.stop();
    shortest = std::min(shortest, timer.elapsed_ns());
  }
  return shortest;
}

}  // namespace ampgate::bench
