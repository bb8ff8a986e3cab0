// Records and comparisons in formats that other tools read. Nothing is computed here: every number is the
// record's.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::results {

// Google Benchmark's JSON, which its compare.py reads: an entry for each block that the record's own
// estimates rest on (of a sustained trial the second half), by the trial's id (and "/cold" or another mode),
// with its number as repetition_index. That format wants a CPU time beside the real one; none is measured, so
// both are the real one, which the context says. What has no numbers is left out.
Json google_benchmark(const Json& record);

// A line for each trial and mode, with a head; by RFC 4180. What is absent is empty.
std::string csv(const Json& record);

// The same of entries of `choices` (choices.h), each with "record", "device" and "model".
std::string choices_csv(const Json& entries);

// JUnit XML, as CI systems read it: a test case a trial. Of a record: what a run fails for is a failure,
// `unsupported` is skipped. Of a comparison: worse and slower are failures, what was refused is an error,
// what is ambiguous is skipped.
std::string junit_of_record(const Json& record);
std::string junit_of_comparison(const Json& comparison);

}  // namespace ampgate::results
