// Operators in forms that no registered case has: with a bias, along outer dimensions, over several
// dimensions.
#pragma once

#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

struct LocalCase {
  cases::Case definition;
  std::vector<std::vector<std::int64_t>> shapes;
};

std::vector<LocalCase> local_cases();

}  // namespace ampgate::validate
