#include "cases/files/zip_checksums.h"

#include <array>
#include <cstring>
#include <optional>

namespace ampgate::cases::files {
namespace {

constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kLongestComment = 65535;

// Little-endian; none beyond the end.
template <typename T>
std::optional<T> read(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return {};
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t entries = 0;
};

// The end record stands before a comment of unknown length; where its numbers do not suffice, a longer one
// does before it.
std::optional<Directory> find_directory(std::string_view archive) {
  if (archive.size() < kEndSize) return {};
  const std::size_t last = archive.size() - kEndSize;
  const std::size_t end = archive.rfind(std::string_view("PK\5\6", 4), last);
  if (end == std::string_view::npos || last - end > kLongestComment) return {};
  if (end >= kLocatorSize && archive.substr(end - kLocatorSize, 4) == std::string_view("PK\6\7", 4)) {
    const auto place = read<std::uint64_t>(archive, end - kLocatorSize + 8);
    const auto entries = place ? read<std::uint64_t>(archive, *place + 32) : std::nullopt;
    const auto begin = place ? read<std::uint64_t>(archive, *place + 48) : std::nullopt;
    if (entries && begin) return Directory{*begin, *entries};
  }
  return Directory{*read<std::uint32_t>(archive, end + 16), *read<std::uint16_t>(archive, end + 10)};
}

}  // namespace

std::map<std::string, std::uint32_t> zip_checksums(std::string_view archive) {
  std::map<std::string, std::uint32_t> checksums;
  const auto directory = find_directory(archive);
  if (!directory) return checksums;
  std::uint64_t at = directory->begin;
  for (std::uint64_t entry = 0; entry < directory->entries; ++entry) {
    if (at > archive.size() || archive.size() - at < kEntrySize) return {};
    if (archive.substr(at, 4) != std::string_view("PK\1\2", 4)) return {};
    const auto checksum = *read<std::uint32_t>(archive, at + 16);
    const auto name = *read<std::uint16_t>(archive, at + 28);
    const auto others =
        std::uint64_t{*read<std::uint16_t>(archive, at + 30)} + *read<std::uint16_t>(archive, at + 32);
    if (checksum != 0) checksums[std::string(archive.substr(at + kEntrySize, name))] = checksum;
    at += kEntrySize + name + others;
  }
  return checksums;
}

std::uint32_t crc32(const void* data, std::size_t size) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < made.size(); ++byte) {
      std::uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
      made[byte] = value;
    }
    return made;
  }();
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint32_t value = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < size; ++i) value = table[(value ^ bytes[i]) & 0xFF] ^ (value >> 8);
  return ~value;
}

}  // namespace ampgate::cases::files
