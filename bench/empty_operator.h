// An operator that does nothing, called like any other: through the dispatcher, and below autocast once more.
#pragma once

#include "cases/case.h"

namespace ampgate::bench {

// Cases with one tensor, whose body calls it once and `kManyOperators` times; not in the registry.
inline constexpr int kManyOperators = 16;
const cases::Case& empty_case();
const cases::Case& many_empty_case();

}  // namespace ampgate::bench
