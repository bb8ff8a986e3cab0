// The index of an archive: a line for each file that was looked at. Several programs may read and write it at
// once, since it is replaced as a whole; the last one's stays.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "results/archive.h"

namespace ampgate::results {

// By path. Empty where there is no index, or one of another version; lines that are damaged are left out.
std::map<std::filesystem::path, ArchivedFile> read_index(const std::filesystem::path& archive);

// Does nothing where the folder cannot be written.
void write_index(const std::filesystem::path& archive, const std::vector<ArchivedFile>& files);

}  // namespace ampgate::results
