// Cases of the user's own, from the files that the command line names.
#pragma once

#include <string>

#include "driver/options.h"
#include "driver/worker_folder.h"

namespace ampgate::driver {

// The suite that such cases are in, and what stands in a plan for it.
inline constexpr auto kFileSuite = "files";

// The worker folder that the options name, with the cases of their files in its manifest. Throws as
// find_worker does, and the worker's own complaints about the files.
WorkerFolder find_worker_and_cases(const Options& options);

// For a run that goes on from a record or journal, whose plan is `planned`: the options must name files of
// the same bytes again, since nothing is loaded that the command line does not name. Throws
// results::UsageError and results::FileError; `where` is the record or journal.
void check_same_files(const results::Json& planned, const WorkerFolder& folder, const std::string& where);

// " --load-library '/x/ops.so' --case-file '/x/gelu.json'": what a command needs that runs this case; empty
// for a case of the build.
std::string file_options(const WorkerFolder& folder, const std::string& case_name);

}  // namespace ampgate::driver
