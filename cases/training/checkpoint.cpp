#include "cases/training/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "cases/safetensors.h"
#include "results/checkpoint_place.h"
#include "results/durable_file.h"
#include "results/error.h"
#include "results/object_reader.h"
#include "results/replacement_folder.h"
#include "results/sha256.h"

namespace ampgate::cases {
namespace {

namespace fs = std::filesystem;
using results::FileError;
using results::Json;

constexpr const char* kDocument = results::kCheckpointDocument;
constexpr const char* kTensors = "tensors.safetensors";
constexpr const results::SealedKind& kKind = results::kCheckpointKind;

// What checkpoint.json says of the tensor file.
struct TensorFile {
  std::int64_t bytes = 0;
  std::string sha256;
  std::vector<std::string> names;  // in ascending order
};

std::vector<std::string> names_of(const std::map<std::string, at::Tensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TensorFile write_tensors(const fs::path& path, const std::map<std::string, at::Tensor>& tensors) {
  TensorFile written{0, "", names_of(tensors)};
  results::NewFile file(path);
  results::Sha256 digest;
  write_safetensors(tensors, [&](std::string_view piece) {
    file.write(piece);
    digest.update(piece);
    written.bytes += static_cast<std::int64_t>(piece.size());
  });
  file.sync();
  written.sha256 = digest.finish();
  return written;
}

std::string write_document(const fs::path& path, const TensorFile& tensors, const Json& state) {
  const std::string text = results::seal(
      {{"ampgate_checkpoint", kKind.version},
       {"digest", ""},
       {"tensors", {{"bytes", tensors.bytes}, {"sha256", tensors.sha256}, {"names", tensors.names}}},
       {"state", state}});
  const Json back = results::parse_strict(text, path.string());
  if (!state.is_object() || back.at("state") != state)
    throw std::invalid_argument("a checkpoint's state is an object of UTF-8 text and finite numbers");
  results::NewFile file(path);
  file.write(text);
  file.sync();
  return back.at("digest").get<std::string>();
}

TensorFile described_tensors(const Json& document, const std::string& where) {
  results::ObjectReader whole(document, where);
  for (const char* key : {"ampgate_checkpoint", "digest"}) whole.get(key);  // checked before
  whole.object("state");
  results::ObjectReader tensors = whole.object("tensors");
  whole.refuse_unknown();
  TensorFile file;
  for (const char* key : {"bytes", "sha256", "names"}) tensors.get(key);
  tensors.read("bytes", file.bytes, 0);
  tensors.read("sha256", file.sha256);
  tensors.read("names", file.names);
  tensors.refuse_unknown();
  return file;
}

// Every byte is the one that was written.
void check_bytes(const fs::path& path, const TensorFile& described) {
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);
  const auto bytes = regular ? fs::file_size(path, error) : 0;
  if (error || !regular)
    throw FileError(path.string(), "cannot be read" + (error ? ": " + error.message() : ""), kKind.action);
  if (bytes != static_cast<std::uintmax_t>(described.bytes)) {
    throw FileError(path.string(),
                    "has " + std::to_string(bytes) + " bytes; " + kDocument + " says " +
                        std::to_string(described.bytes) + ": truncated, or of another checkpoint",
                    kKind.action);
  }
  if (results::sha256_file(path.string()) != described.sha256) {
    throw FileError(path.string(),
                    std::string("altered, or of another checkpoint: its SHA-256 is not that in ") + kDocument,
                    kKind.action);
  }
}

void check_names(const fs::path& path, const std::vector<std::string>& there,
                 const std::vector<std::string>& described) {
  const auto [found, wanted] = std::mismatch(there.begin(), there.end(), described.begin(), described.end());
  if (found == there.end() && wanted == described.end()) return;
  const bool missing = found == there.end() || (wanted != described.end() && *wanted < *found);
  throw FileError(path.string(),
                  missing ? "tensor '" + *wanted + "' is missing"
                          : "tensor '" + *found + "' is not named in " + kDocument,
                  kKind.action);
}

}  // namespace

std::string write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  results::ReplacementFolder replacement(folder, {kDocument, kTensors});
  const TensorFile tensors = write_tensors(replacement.aside() / kTensors, checkpoint.tensors);
  std::string digest = write_document(replacement.aside() / kDocument, tensors, checkpoint.state);
  replacement.put_in_place();
  return digest;
}

Checkpoint read_checkpoint(const fs::path& folder, const std::string& digest) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw FileError(
        folder.string(), error ? error.message() : "not a folder",
        "give the folder of a checkpoint; after a kill, one that was to be replaced may lie beside "
        "it under a name that ends in .old");
  }
  const fs::path document_path = folder / kDocument;
  Json document = results::read_sealed(document_path.string(), kKind);
  if (!digest.empty() && document.at("digest") != digest) {
    throw FileError(document_path.string(),
                    "another checkpoint: its digest is " + document.at("digest").get<std::string>() +
                        ", the one that is asked for has " + digest,
                    kKind.action);
  }
  const TensorFile described = described_tensors(document, document_path.string());
  const fs::path tensor_path = folder / kTensors;
  check_bytes(tensor_path, described);
  Checkpoint checkpoint{read_safetensors(tensor_path, kKind.action), std::move(document["state"])};
  check_names(tensor_path, names_of(checkpoint.tensors), described.names);
  return checkpoint;
}

}  // namespace ampgate::cases
