// Case files and libraries of operators, by which a worker learns of cases that this build has not.
#pragma once

#include "results/json.h"

namespace ampgate::cases::files {

// Loads {"libraries": [{"path"}], "cases": [{"path"}]}, in that order, and adds the cases to the registry.
// Where there is a "sha256" beside a path, the file must have it, and so must those that a case file "uses".
// Gives the same back with what was found: digests, each library's "operators", each case file's "names" and
// "uses". Nothing is executed but the libraries; a package (.pt2) among them is only permitted to run later.
// Throws results::FileError and results::EnvironmentError.
results::Json load(const results::Json& files);

}  // namespace ampgate::cases::files
