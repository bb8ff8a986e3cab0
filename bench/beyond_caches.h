// How much memory must be read so that nothing of before is left in the caches.
#pragma once

#include <cstdint>

#include "backends/backend.h"

namespace ampgate::bench {

// Twice the last-level cache; where the system does not tell it, twice 256 MiB, which is more than all but
// the largest servers have.
inline std::int64_t bytes_beyond_caches(const backends::Backend& backend) {
  constexpr std::int64_t kUnknown = std::int64_t{256} << 20;
  const std::int64_t cache = backend.last_level_cache_bytes();
  return 2 * (cache > 0 ? cache : kUnknown);
}

}  // namespace ampgate::bench
