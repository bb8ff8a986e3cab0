// What a body keeps from call to call, at three levels: LibTorch's allocator, malloc, the resident set.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "bench/cell.h"
#include "results/json.h"

namespace ampgate::bench {

struct Growth {
  std::int64_t calls = 0;
  std::int64_t allocator_bytes = 0;
  std::int64_t malloc_bytes = 0;  // of the C library, in use; part of it may be the allocator's
  std::int64_t resident_bytes = 0;
  // Every stretch of calls kept about as much as the others, which is no accident.
  bool allocator_leaks = false;
  bool malloc_leaks = false;
  bool resident_leaks = false;

  std::int64_t allocator_bytes_per_call() const { return allocator_bytes / calls; }
  std::int64_t malloc_bytes_per_call() const { return malloc_bytes / calls; }
  std::int64_t resident_bytes_per_call() const { return resident_bytes / calls; }
};

// Of this process, now.
std::int64_t resident_bytes();

// Several stretches of as many calls each, as many as fit in a part of a second. The body is warm.
Growth measure_growth(Body& body, backends::Backend& backend);

// {"calls", "allocator_bytes", "malloc_bytes", "resident_bytes"}
results::Json to_json(const Growth& growth);

}  // namespace ampgate::bench
