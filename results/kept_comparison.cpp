#include "results/kept_comparison.h"

#include <system_error>

#include "results/durable_file.h"
#include "results/error.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

constexpr auto kFolder = ".comparisons";

}  // namespace

fs::path keep_comparison(const fs::path& archive, const Json& comparison) {
  const fs::path folder = archive / kFolder;
  const std::string name = comparison.at("a").at("id").get<std::string>() + "-" +
                           comparison.at("b").at("id").get<std::string>() + ".json";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw EnvironmentError(folder.string() + ": cannot be made: " + error.message(),
                           "choose another folder with --archive");
  }
  write_in_place(folder / name, to_text(comparison) + "\n");
  return folder / name;
}

std::map<std::string, std::string> baselines(const fs::path& archive) {
  std::map<std::string, std::string> found;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(archive / kFolder, error)) {
    if (file.path().extension() != ".json") continue;
    const Json comparison = read_json_file(file.path().string());
    const Json::json_pointer id("/a/id");
    if (comparison.contains(id) && comparison.at(id).is_string())
      found.emplace(comparison.at(id).get<std::string>(), file.path().stem().string());
  }
  return found;
}

}  // namespace ampgate::results
