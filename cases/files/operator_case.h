// A case file of operators: one, or several whose results feed the next.
#pragma once

#include <vector>

#include "cases/case.h"
#include "cases/files/document.h"

namespace ampgate::cases::files {

// One case, or one for each of its layouts and numbers of threads. Throws results::FileError with what is
// wrong and where.
std::vector<Case> operator_cases(const Document& document);

}  // namespace ampgate::cases::files
