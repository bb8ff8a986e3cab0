// Looks on while a body runs: which operators it calls and in what state, what it reads, copies, draws and
// allocates beside their work.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/allocations.h"
#include "bench/call_observer.h"
#include "bench/cell.h"

namespace ampgate::bench {

struct Sightings {
  std::int64_t calls = 0;       // operators that the body called itself
  std::int64_t dispatches = 0;  // with those that operators called
  // Operators that hand a value to the host, wherever they were called, and how often.
  std::map<std::string, std::int64_t> reads;
  std::set<std::string> makes;  // operators by which the case's own code fills or copies memory itself
  std::set<std::string> draws;  // operators that were given a generator
  std::map<std::string, std::string>
      states;                          // what was on or changed meanwhile -> operator that saw it first
  std::int64_t stray_allocations = 0;  // while no operator of the case's own code ran
  std::int64_t stray_bytes = 0;
};

// Of this thread; one at a time. What LibTorch's worker threads do, or what reads memory through a pointer,
// is not seen. Each operator that the body calls has the settings compared with `settings`.
class CallWatch final : public CallObserver, public AllocationListener {
 public:
  CallWatch(const Body& body, const backends::Fields& settings);

  const Sightings& sightings() const { return seen_; }

 private:
  void enter(const at::RecordFunction& function) override;
  void leave() override { open_.pop_back(); }
  void allocated(void* block, std::int64_t bytes) override;
  void released(void*) override {}
  void look_around(const std::string& name);
  void look_at_settings(const std::string& name);
  bool autocast_is_strange() const;

  const Body& body_;
  const backends::Fields& settings_;
  Sightings seen_;
  std::vector<std::string> open_;  // operators that have not returned, outermost first
  AllocationScope allocations_;
};

}  // namespace ampgate::bench
