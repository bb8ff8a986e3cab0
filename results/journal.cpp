#include "results/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "results/durable_file.h"
#include "results/error.h"
#include "results/sha256.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".journal.jsonl";

void lock(int descriptor, const fs::path& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    throw EnvironmentError(path.string() + " is in use by another process", "wait for that run to end");
  }
}

// A line is the text of its object with one member more, put in before the closing brace.
constexpr std::string_view kDigestMember = ",\"sha256\":\"";
constexpr std::string_view kAfterDigest = "\"}";
constexpr std::size_t kDigits = 64;

// The text without the digest. Throws FileError unless it is the one that belongs to this text after
// `before`.
std::string checked(std::string_view line, const std::string& before, const std::string& where,
                    std::string& digest) {
  constexpr auto kAdded = kDigestMember.size() + kDigits + kAfterDigest.size();
  if (line.size() > kAdded && line.ends_with(kAfterDigest)) {
    const auto added = line.substr(line.size() - kAdded);
    digest = added.substr(kDigestMember.size(), kDigits);
    std::string text(line.substr(0, line.size() - kAdded));
    text += '}';
    if (added.starts_with(kDigestMember) && sha256_hex(before + text) == digest) return text;
  }
  throw FileError(where, "altered: its sha256 is not that of its content after the line before",
                  "only an untouched journal can be resumed: start the run again");
}

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path))
    throw FileError(path.string(), "cannot be read", "give a journal that is there");
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_header(const Json& header, const std::string& where) {
  if (!header.is_object() || !header.contains("ampgate_journal")) {
    throw FileError(where, "not a journal (no key ampgate_journal)",
                    "give the *.journal.jsonl of a run that was stopped");
  }
  if (header["ampgate_journal"] != kJournalVersion) {
    throw FileError(where,
                    "journal of version " + header["ampgate_journal"].dump() +
                        "; this ampgate reads version " + std::to_string(kJournalVersion),
                    "resume with the ampgate that wrote it");
  }
  for (const auto* key : {"run", "plan", "rules"}) {
    if (!header.contains(key) || !header[key].is_object())
      throw FileError(where, std::string("/") + key + " is missing", "");
  }
}

}  // namespace

void RunData::add(const Json& entry) {
  if (!entry.is_object() || entry.size() != 1) throw std::invalid_argument("an entry has one key");
  const auto& kind = entry.begin().key();
  const Json& body = entry.begin().value();
  if (!body.is_object()) throw std::invalid_argument("/" + kind + " must be an object");
  if (kind == "environment") {
    environment = body;
  } else if (kind == "trial") {
    if (!body.contains("id") || !body["id"].is_string() || !body.contains("verdict") ||
        !body["verdict"].is_string()) {
      throw std::invalid_argument("a trial has an id and a verdict");
    }
    trials[body["id"].get<std::string>()] = body;
  } else if (kind == "repeat") {
    repeats.push_back(body);
  } else if (kind == "bench") {
    bench.push_back(body);
  } else if (kind == "ceilings") {
    ceilings = body;
  } else if (kind == "fingerprint") {
    fingerprint = body;
  } else if (kind == "inspect") {
    inspect = body;
  } else if (kind == "phase") {
    phases.push_back(body);
  } else if (kind == "resumed") {
    ++resumed;
  } else {
    throw std::invalid_argument("unknown entry '" + kind + "'");
  }
}

bool RunData::ended(const std::string& phase) const {
  return std::any_of(phases.begin(), phases.end(),
                     [&](const Json& entry) { return entry.contains("name") && entry["name"] == phase; });
}

Journal Journal::create(const fs::path& path, Json header) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    throw EnvironmentError(
        "cannot make the archive folder " + path.parent_path().string() + ": " + error.message(),
        "choose another --archive");
  }
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_to_write("cannot write", path);
  lock(descriptor, path);
  Journal journal(path, descriptor);
  journal.data_.header = std::move(header);
  journal.write_line(journal.data_.header);
  sync_folder(path.parent_path());
  return journal;
}

Journal Journal::resume(const fs::path& path) {
  if (!path.string().ends_with(kEnding)) {
    throw FileError(path.string(), "a journal's name ends in .journal.jsonl",
                    "give the journal of a run that was stopped");
  }
  const std::string text = read_all(path);
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) fail_to_write("cannot write", path);
  lock(descriptor, path);
  Journal journal(path, descriptor);
  const auto complete = text.rfind('\n');
  if (complete == std::string::npos) {
    throw FileError(path.string(), text.empty() ? "empty" : "not even its first line is whole",
                    "start the run again");
  }
  std::size_t number = 0;
  for (std::size_t begin = 0; begin <= complete;) {
    const auto end = text.find('\n', begin);
    const auto where = path.string() + ": line " + std::to_string(++number);
    const auto line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (number == 1) check_header(parse_strict(line, where), where);  // its version decides how to read on
    std::string digest;
    Json entry = parse_strict(checked(line, journal.last_digest_, where, digest), where);
    journal.last_digest_ = std::move(digest);
    if (number == 1) {
      journal.data_.header = std::move(entry);
      continue;
    }
    try {
      journal.data_.add(entry);
    } catch (const std::invalid_argument& damage) {
      throw FileError(where, damage.what(), "the journal was changed: start the run again");
    }
  }
  if (ftruncate(descriptor, static_cast<off_t>(complete + 1)) != 0) fail_to_write("cannot write", path);
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      last_digest_(std::move(other.last_digest_)),
      data_(std::move(other.data_)) {}

Journal::~Journal() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Journal::write_line(const Json& entry) {
  std::string line = to_text(entry);
  std::string digest = sha256_hex(last_digest_ + line);
  line.pop_back();
  line.append(kDigestMember).append(digest).append(kAfterDigest).append("\n");
  write_all(descriptor_, line, path_);
  sync_file(descriptor_, path_);
  last_digest_ = std::move(digest);
}

void Journal::append(const Json& entry) {
  write_line(entry);
  data_.add(entry);
}

fs::path Journal::record_path() const {
  const std::string text = path_.string();
  return text.substr(0, text.size() - kEnding.size()) + ".json";
}

void Journal::finish(const std::string& record) {
  const fs::path target = record_path();
  const fs::path aside = target.string() + ".new";
  try {
    NewFile file(aside);
    file.write(record);
    file.sync();
  } catch (...) {
    unlink(aside.c_str());
    throw;
  }
  if (rename(aside.c_str(), target.c_str()) != 0) fail_to_write("cannot write", target);
  sync_folder(target.parent_path());
  unlink(path_.c_str());
}

}  // namespace ampgate::results
