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

// A file whose header was read and checked.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const std::string& action) : file_(path.string()) {
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(path, error);
    if (error) throw results::EnvironmentError(file_ + ": " + error.message(), action);
    stream_.open(path, std::ios::binary);
    if (!stream_) throw results::EnvironmentError(file_ + ": cannot be opened", action);
    read_header(bytes);
  }

  const std::vector<Entry>& entries() const { return entries_; }

  at::Tensor tensor(const Entry& entry) {
    at::Tensor tensor = at::empty(entry.sizes, entry.type);
    if (tensor.numel() == 0) return tensor;
    stream_.seekg(static_cast<std::streamoff>(data_ + entry.begin));
    read_bytes(file_, stream_, tensor.mutable_data_ptr(), entry.end - entry.begin);
    return tensor;
  }

 private:
  void read_header(std::uint64_t file_bytes) {
    if (file_bytes < kLengthBytes) fail(file_, "too short for a safetensors file");
    std::uint64_t header_bytes = 0;
    read_bytes(file_, stream_, &header_bytes, kLengthBytes);
    if (header_bytes > std::min(kMaxHeaderBytes, file_bytes - kLengthBytes)) {
      fail(file_, "a header of " + std::to_string(header_bytes) + " bytes does not fit");
    }
    std::string header(header_bytes, '\0');
    read_bytes(file_, stream_, header.data(), header_bytes);
    const Json descriptions = results::parse_strict(header, file_);
    if (!descriptions.is_object()) fail(file_, "the header is not a JSON object");
    for (const auto& [name, description] : descriptions.items()) {
      if (name != "__metadata__") entries_.push_back(read_entry(file_, name, description));
    }
    data_ = kLengthBytes + header_bytes;
    check_coverage(file_, entries_, file_bytes - data_);
  }

  std::string file_;
  std::ifstream stream_;
  std::uint64_t data_ = 0;  // where the tensors' bytes begin
  std::vector<Entry> entries_;
};

template <typename Work>
auto with_reader(const std::filesystem::path& path, const std::string& action, Work&& work) {
  try {
    Reader reader(path, action);
    return work(reader);
  } catch (const Damage& damage) {
    throw results::FileError(damage.where, damage.what, action);
  }
}

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& path,
                                                   const std::string& action) {
  return with_reader(path, action, [](Reader& reader) {
    std::map<std::string, at::Tensor> tensors;
    for (const Entry& entry : reader.entries()) tensors.emplace(entry.name, reader.tensor(entry));
    return tensors;
  });
}

std::map<std::string, StoredTensor> describe_safetensors(const std::filesystem::path& path,
                                                         const std::string& action) {
  return with_reader(path, action, [](const Reader& reader) {
    std::map<std::string, StoredTensor> tensors;
    for (const Entry& entry : reader.entries())
      tensors.emplace(entry.name, StoredTensor{entry.type, entry.sizes});
    return tensors;
  });
}

at::Tensor read_safetensors(const std::filesystem::path& path, const std::string& name,
                            const std::string& action) {
  return with_reader(path, action, [&](Reader& reader) {
    for (const Entry& entry : reader.entries()) {
      if (entry.name == name) return reader.tensor(entry);
    }
    fail(path.string(), "has no tensor '" + name + "'");
  });
}

}  // namespace ampgate::cases
