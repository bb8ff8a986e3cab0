#include "results/archive_index.h"

#include <fstream>
#include <string>

#include "results/durable_file.h"
#include "results/error.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

// Raised when summaries change: an older index is made again.
constexpr auto kHead = R"({"ampgate_index":2})";
constexpr auto kName = ".index.jsonl";

Json to_json(const ArchivedFile& file) {
  Json line{{"path", file.path.generic_string()}, {"bytes", file.bytes}, {"modified_ns", file.modified_ns}};
  if (file.problem.empty()) {
    line["summary"] = file.summary;
  } else {
    line["problem"] = file.problem;
  }
  return line;
}

ArchivedFile from_json(const Json& line) {
  return {line.at("path").get<std::string>(), line.at("bytes").get<std::uintmax_t>(),
          line.at("modified_ns").get<std::int64_t>(), line.value("summary", Json()),
          line.value("problem", std::string())};
}

}  // namespace

std::map<fs::path, ArchivedFile> read_index(const fs::path& archive) {
  std::map<fs::path, ArchivedFile> files;
  std::ifstream index(archive / kName);
  std::string line;
  if (!std::getline(index, line) || line != kHead) return files;
  while (std::getline(index, line)) {
    try {
      ArchivedFile file = from_json(Json::parse(line));
      files.insert_or_assign(file.path, std::move(file));
    } catch (const Json::exception&) {
      continue;
    }
  }
  return files;
}

void write_index(const fs::path& archive, const std::vector<ArchivedFile>& files) {
  std::string text = std::string(kHead) + "\n";
  for (const auto& file : files) text += to_text(to_json(file)) + "\n";
  try {
    write_in_place(archive / kName, text);
  } catch (const EnvironmentError&) {
    return;
  }
}

}  // namespace ampgate::results
