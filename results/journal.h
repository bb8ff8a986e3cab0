// The journal of a run: JSON lines, each synced to disk, so that a run killed at any moment loses no finished
// trial. Its first line fixes plan and rules; the record is built from it and takes its place.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

inline constexpr int kJournalVersion = 2;

// What a run knows so far. Every change is one entry of the journal, whose last member "sha256" (left out
// below) is the digest of that of the line before followed by this line without it: no line can be altered,
// moved or lost unseen.
//   {"environment": {...}}              what the first worker said about device, LibTorch and settings
//   {"trial": {...}}                    a trial's validation, the event `trial_finished`
//   {"repeat": {"process": 1, "trials": {id: {...}}}}
//   {"bench": {"process": 0, "mode": "warm", "order_seed": 1,
//              "samples": {id: [[block, order, calls, time_ns, page_faults, {"disturbed": ...}], ...]},
//              "trials": {id: {...}}, ...}}
//   {"ceilings": {...}}                 what the worker of phase `ceilings` measured
//   {"fingerprint": {...}}              what the worker of phase `fingerprint` found
//   {"inspect": {id: {...}}}
//   {"phase": {"name": "validate", "wall_time_ns": 1, ...}}   one for each phase that ended
struct RunData {
  Json header;
  Json environment;
  std::map<std::string, Json> trials;
  std::vector<Json> repeats;
  std::vector<Json> bench;
  Json ceilings;
  Json fingerprint;
  Json inspect;
  std::vector<Json> phases;
  int resumed = 0;

  // Throws std::invalid_argument for an entry of another kind.
  void add(const Json& entry);
  bool ended(const std::string& phase) const;
};

class Journal {
 public:
  // Makes the folder and the file. Throws EnvironmentError when it cannot be written.
  static Journal create(const std::filesystem::path& path, Json header);

  // Reads it and goes on. A last line without its end is dropped: the run was killed while writing it. Throws
  // FileError for any other damage and for a line that was altered, EnvironmentError when another process has
  // it open.
  static Journal resume(const std::filesystem::path& path);

  Journal(Journal&& other) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // On disk when it returns. Throws EnvironmentError (no space left).
  void append(const Json& entry);

  const RunData& data() const { return data_; }
  const std::filesystem::path& path() const { return path_; }
  // The record's file: the journal's name with .json.
  std::filesystem::path record_path() const;

  // Writes the record aside, syncs it, renames it into place, removes the journal. Throws EnvironmentError.
  void finish(const std::string& record);

 private:
  Journal(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void write_line(const Json& entry);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string last_digest_;
  RunData data_;
};

}  // namespace ampgate::results
