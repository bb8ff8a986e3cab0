// The commands of `ampgate`. Each returns the exit code of a program that did its work; what went wrong is
// thrown.
#pragma once

#include "driver/options.h"
#include "results/error.h"

namespace ampgate::driver {

results::ExitCode run(const Options& options);  // run and validate
results::ExitCode bench(const Options& options);
results::ExitCode resume(const Options& options);  // run, validate or bench with --resume
results::ExitCode list(const Options& options);
results::ExitCode devices(const Options& options);
results::ExitCode fingerprint(const Options& options);
results::ExitCode reproduce(const Options& options);
results::ExitCode selftest(const Options& options);
results::ExitCode compare(const Options& options);
results::ExitCode export_record(const Options& options);
results::ExitCode decide(const Options& options);
results::ExitCode report(const Options& options);  // becomes the script that makes the page
results::ExitCode archive_list(const Options& options);
results::ExitCode archive_show(const Options& options);
results::ExitCode archive_verify(const Options& options);
results::ExitCode archive_prune(const Options& options);

}  // namespace ampgate::driver
