#include "results/sealed.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "results/error.h"
#include "results/sha256.h"

namespace ampgate::results {
namespace {

const std::string kNoDigest(64, '0');

// A FIFO or a device would block or never end: they are not opened.
std::string read_text(const std::string& path, const SealedKind& kind) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw FileError(path, "is a folder", kind.action);
  const bool regular = std::filesystem::is_regular_file(path, error);
  std::ifstream file;
  if (regular) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    throw FileError(path, "cannot be read" + (error ? ": " + error.message() : std::string()), kind.action);
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw FileError(path, "empty", kind.action);
  return text;
}

bool fits_its_digest(const std::string& text, const Json& document) {
  const Json digest = document.value("digest", Json());
  if (!digest.is_string()) return false;
  try {
    return own_digest(text, digest.get_ref<const std::string&>()) == digest;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void check_version(const Json& version, const std::string& path, const SealedKind& kind) {
  const int oldest = kind.migrate == nullptr ? kind.version : 1;
  const bool whole = version.is_number_integer();
  if (whole && version >= oldest && version <= kind.version) return;
  const bool newer = whole && version > kind.version;
  throw FileError(path,
                  std::string(kind.noun) + " of version " + version.dump() +
                      (newer ? ", which is newer" : "") + "; this ampgate reads " +
                      (oldest < kind.version ? "versions 1 to " : "version ") + std::to_string(kind.version),
                  newer ? "use the ampgate that wrote it, or a newer one" : kind.action);
}

}  // namespace

std::string seal(Json document) {
  document["digest"] = kNoDigest;
  std::string text = to_text(document) + "\n";
  return text.replace(text.find(kNoDigest), kNoDigest.size(), own_digest(text, kNoDigest));
}

Json read_sealed(const std::string& path, const SealedKind& kind) {
  const std::string noun = kind.noun;
  const std::string key = "ampgate_" + noun;
  const std::string text = read_text(path, kind);
  Json document = parse_strict(text, path);
  if (!document.is_object()) throw FileError(path, "a " + noun + " is a JSON object", kind.action);
  if (!document.contains(key)) throw FileError(path, "not a " + noun + " (no key " + key + ")", kind.action);
  check_version(document[key], path, kind);
  if (!fits_its_digest(text, document)) {
    throw FileError(path, "does not fit its own digest: it was altered after it was written",
                    "use the original");
  }
  if (document[key] != kind.version) {
    kind.migrate(document);
    document[key] = kind.version;
  }
  return document;
}

}  // namespace ampgate::results
