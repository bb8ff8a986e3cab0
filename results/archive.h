// A folder of records, `<archive>/<device>/<date>-<id>.json`, and what stands in them, without reading all of
// them again each time: an index keeps a summary of each. The files are the truth; the index is made again
// where they differ from it, or where it is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

struct ArchivedFile {
  std::filesystem::path path;  // within the archive: "cpu/20261130T053500Z-31f2078e.json"
  std::uintmax_t bytes = 0;
  std::int64_t modified_ns = 0;
  Json summary;         // record_summary's; null where the file is no record that can be trusted
  std::string problem;  // why, and what to do; empty where it is one
};

// What lists and queries ask of a record: id, digest, when it began, device, command, suite, verdicts
// counted, and the exit code that its run had.
Json record_summary(const Json& record);

class Archive {
 public:
  // Throws EnvironmentError when the folder cannot be read, UsageError when there is none.
  explicit Archive(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path place(const ArchivedFile& file) const { return folder_ / file.path; }

  // All of them, oldest first. Reads what changed since the index was written, and writes it again; an
  // archive that cannot be written has none, which costs time alone.
  std::vector<ArchivedFile> files() const;

  // The same, and every file is read, whatever the index says.
  std::vector<ArchivedFile> verified_files() const;

  // Journals of runs that were stopped, or are running.
  std::vector<std::filesystem::path> journals() const;

  // The record of that id, of which a beginning or an end is enough, or of that path. Throws UsageError where
  // there is none, or several.
  ArchivedFile find(const std::string& id) const;

  // The newest record whose summary fits; what is older than it is not read. `skipped` is told of files on
  // the way that cannot be trusted; `in` is the folder of one device, empty: all.
  std::optional<ArchivedFile> newest(const std::function<bool(const Json& summary)>& fits,
                                     const std::function<void(const ArchivedFile&)>& skipped = {},
                                     const std::filesystem::path& in = {}) const;

  // The newest run that was good (exit code 0) of the same device and suite, begun before this record, and
  // measured where this one was. None where there is no such run.
  std::optional<ArchivedFile> last_good_before(const Json& record) const;

 private:
  std::vector<ArchivedFile> found() const;
  std::vector<ArchivedFile> look(bool trust_index) const;

  std::filesystem::path folder_;
};

}  // namespace ampgate::results
