// Elements that a run on memory full of NaN (backends/poison_allocator.h) shows to depend on memory that
// nobody wrote.
#pragma once

#include <optional>
#include <string>

#include "cases/case.h"
#include "validate/first_bad.h"

namespace ampgate::validate {

struct UnwrittenElements {
  std::int64_t count = 0;     // in all outputs; integers cannot tell
  std::int64_t elements = 0;  // of all outputs
  std::size_t output = 0;     // the first one that has some
  std::int64_t first = -1;    // there, in logical order
};

UnwrittenElements unwritten_elements(const cases::Outputs& outputs);

// "1 of 1001 elements are never written, the first of them out[1000]", or, where they may have been computed
// from such memory, "... depend on memory that was never written, ...".
std::string sentence(const UnwrittenElements& unwritten, const std::optional<UnfilledMemory>& memory,
                     const cases::Case& definition, const cases::Outputs& outputs);

}  // namespace ampgate::validate
