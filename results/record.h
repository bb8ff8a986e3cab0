// A record: one run as one JSON file that carries its own digest. Built from a journal, read back with
// suspicion.
#pragma once

#include <string>

#include "results/journal.h"
#include "results/rules.h"

namespace ampgate::results {

inline constexpr int kRecordVersion = 2;

// All of a run; the digest is put in by seal (results/sealed.h). `finished` is the time of the end, ISO 8601
// in UTC.
Json build_record(const RunData& run, const Rules& rules, const std::string& finished);

// Reads a record and checks version, digest and the shape of all that this program relies on, so that no
// reader needs to; one of an older version is given as one of this version (migration.h). Throws FileError:
// cannot be read, empty, truncated, altered, of a newer version, not a record.
Json read_record(const std::string& path);

// The SHA-256 that rules are known by: that of their JSON with every key present but `golden`.
std::string rules_digest(const Rules& rules);

}  // namespace ampgate::results
