#include "cases/safetensors.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "cases/safetensors_types.h"
#include "results/error.h"
#include "results/json.h"

namespace ampgate::cases {
namespace {

using results::Json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own reader

struct Entry {
  std::string name;
  at::ScalarType type;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin;  // bytes after the header
  std::uint64_t end;
};

struct Damage {
  std::string where;
  std::string what;
};

[[noreturn]] void fail(const std::string& where, const std::string& what) { throw Damage{where, what}; }

at::ScalarType type_from(const std::string& where, const Json& word) {
  if (!word.is_string()) fail(where, "dtype is not a string");
  const auto found = std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(), [&](const auto& known) {
    return known.name == word.get_ref<const std::string&>();
  });
  if (found == kSafetensorsTypes.end()) fail(where, "unknown dtype " + word.dump());
  return found->type;
}

const Json& member(const std::string& where, const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) fail(where, std::string("no ") + key);
  return *found;
}

std::uint64_t natural(const std::string& where, const Json& value, const char* what) {
  if (!value.is_number_unsigned()) fail(where, std::string(what) + " is not a natural number");
  return value.get<std::uint64_t>();
}

// Bytes of a tensor. Sizes of 0 are multiplied as 1 before the check: strides are computed that way.
std::uint64_t byte_size(const std::string& where, const Entry& entry) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = c10::elementSize(entry.type);
  bool empty = false;
  for (const std::int64_t size : entry.sizes) {
    const std::uint64_t factor = std::max<std::int64_t>(size, 1);
    if (bytes > kMax / factor) fail(where, "the shape is too large");
    bytes *= factor;
    empty = empty || size == 0;
  }
  return empty ? 0 : bytes;
}

Entry read_entry(const std::string& file, const std::string& name, const Json& description) {
  const std::string where = file + ": tensor '" + name + "'";
  if (!description.is_object()) fail(where, "not an object");
  Entry entry{name, type_from(where, member(where, description, "dtype")), {}, 0, 0};
  const Json& shape = member(where, description, "shape");
  if (!shape.is_array()) fail(where, "shape is not an array");
  for (const Json& size : shape) {
    const std::uint64_t value = natural(where, size, "a size");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(where, "a size is too large");
    entry.sizes.push_back(static_cast<std::int64_t>(value));
  }
  const Json& offsets = member(where, description, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) fail(where, "data_offsets are not two numbers");
  entry.begin = natural(where, offsets[0], "an offset");
  entry.end = natural(where, offsets[1], "an offset");
  if (entry.end < entry.begin) fail(where, "data_offsets are reversed");
  if (entry.end - entry.begin != byte_size(where, entry))
    fail(where, "data_offsets do not fit shape and dtype");
  return entry;
}

// Sorted by place; together they cover the data exactly, as the format demands.
void check_coverage(const std::string& file, std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin < covered) fail(file, "tensor '" + entry.name + "' overlaps another");
    if (entry.begin > covered) fail(file, "a hole before tensor '" + entry.name + "'");
    covered = entry.end;
  }
  if (covered > data_bytes) {
    fail(file, "truncated: tensors need " + std::to_string(covered) + " bytes, " +
                   std::to_string(data_bytes) + " are there");
  }
  if (covered < data_bytes) fail(file, std::to_string(data_bytes - covered) + " bytes after the last tensor");
}

void read_bytes(const std::string& file, std::ifstream& stream, void* target, std::uint64_t bytes) {
  if (!stream.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes)))
    fail(file, "cannot be read");
}

std::map<std::string, at::Tensor> read(const std::string& file, std::ifstream& stream,
                                       std::uint64_t file_bytes) {
  if (file_bytes < kLengthBytes) fail(file, "too short for a safetensors file");

  std::uint64_t header_bytes = 0;
  read_bytes(file, stream, &header_bytes, kLengthBytes);
  if (header_bytes > std::min(kMaxHeaderBytes, file_bytes - kLengthBytes)) {
    fail(file, "a header of " + std::to_string(header_bytes) + " bytes does not fit");
  }
  std::string header(header_bytes, '\0');
  read_bytes(file, stream, header.data(), header_bytes);
  const Json descriptions = results::parse_strict(header, file);
  if (!descriptions.is_object()) fail(file, "the header is not a JSON object");

  std::vector<Entry> entries;
  for (const auto& [name, description] : descriptions.items()) {
    if (name != "__metadata__") entries.push_back(read_entry(file, name, description));
  }
  check_coverage(file, entries, file_bytes - kLengthBytes - header_bytes);

  std::map<std::string, at::Tensor> tensors;
  for (const Entry& entry : entries) {
    at::Tensor tensor = at::empty(entry.sizes, entry.type);
    if (tensor.numel() != 0) read_bytes(file, stream, tensor.mutable_data_ptr(), entry.end - entry.begin);
    tensors.emplace(entry.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& path,
                                                   const std::string& action) {
  std::error_code error;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  if (error) throw results::EnvironmentError(path.string() + ": " + error.message(), action);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw results::EnvironmentError(path.string() + ": cannot be opened", action);
  try {
    return read(path.string(), stream, file_bytes);
  } catch (const Damage& damage) {
    throw results::FileError(damage.where, damage.what, action);
  }
}

}  // namespace ampgate::cases
