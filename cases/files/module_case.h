// A case file of a TorchScript module.
#pragma once

#include <string>

#include "cases/case.h"
#include "cases/files/document.h"

namespace ampgate::cases::files {

// Loads the module that `member` names; nothing of it runs yet. Throws results::FileError with what is wrong, in the case file or
// in the module's.
Case module_case(const Document& document, const std::string& member = "module");

}  // namespace ampgate::cases::files
