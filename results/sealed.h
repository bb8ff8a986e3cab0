// JSON documents that carry their own digest, such as records: written sealed, read back with suspicion.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::results {

struct SealedKind {
  const char* noun;    // "record": the key "ampgate_record" holds the document's version
  int version;         // the one that this program reads
  const char* action;  // what to give instead of a file that is none
  void (*migrate)(Json&) =
      nullptr;  // makes an older version's document this version's; none: they are refused
};

// The document's text with its digest in it, under the key "digest": what the file holds.
std::string seal(Json document);

// Reads a document and checks that it is of this kind and version and fits its own digest. Throws FileError:
// cannot be read, empty, truncated, altered, of a newer version, something else.
Json read_sealed(const std::string& path, const SealedKind& kind);

}  // namespace ampgate::results
