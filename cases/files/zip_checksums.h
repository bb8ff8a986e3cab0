// The checksums that a zip archive holds of its files. LibTorch's reader does not look at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ampgate::cases::files {

// CRC-32 of each file's unpacked content by its name, from the archive's directory (APPNOTE.TXT, 4.3.12 to
// 4.3.16). Those that the archive leaves at 0 are not there; nothing where it has no directory that fits it.
std::map<std::string, std::uint32_t> zip_checksums(std::string_view archive);

// As zip archives have it: the reflected polynomial 0xEDB88320.
std::uint32_t crc32(const void* data, std::size_t size);

}  // namespace ampgate::cases::files
