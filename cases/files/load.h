// Case files and libraries of operators, by which a worker learns of cases that this build has not.
#pragma once

#include "results/json.h"

namespace ampgate::cases::files {

// Loads {"libraries": [{"path"}], "folders": [path], "cases": [{"path"}]}, in that order, and adds the cases
// to the registry. Where there is a "sha256" beside a path, the file must have it, and so must those that it
// "uses". Gives the same back with what was found: digests, what each "uses" (data files; libraries that a
// library brought along), each library's "operators" and each case file's "names". Nothing is executed but
// the libraries; a package or module among them is only permitted to run later, and so are the modules of the
// folders, which are among the libraries that are given back where a case needs them. Throws
// results::FileError and results::EnvironmentError.
results::Json load(const results::Json& files);

}  // namespace ampgate::cases::files
