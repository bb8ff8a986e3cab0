// Ends a run: carries out the journal's plan, writes the record, tells the user.
#pragma once

#include "driver/options.h"
#include "driver/worker_folder.h"
#include "results/error.h"
#include "results/journal.h"

namespace ampgate::driver {

// A new journal in the archive, in the folder of its device.
results::Journal open_journal(const Options& options, results::Json header);

// Runs what the journal still lacks, writes the record and prints it as the options ask. On an error or
// interrupt says how to go on, unless nothing was finished yet; then the journal is removed.
results::ExitCode complete(const Options& options, const WorkerFolder& folder, results::Journal journal);

// The record as the options ask: JSON, the answer alone, or table and answer.
void print_record(const Options& options, const std::string& text, const std::string& path);

}  // namespace ampgate::driver
