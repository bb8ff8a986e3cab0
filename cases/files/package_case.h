// A case file of AOTInductor packages: one in FP32, and one in 16 bit that is compared with it.
#pragma once

#include "cases/case.h"
#include "cases/files/document.h"

namespace ampgate::cases::files {

// No code of the packages is loaded yet. Throws results::FileError with what is wrong and where; also for a
// package that the command line does not name.
Case package_case(const Document& document);

}  // namespace ampgate::cases::files
