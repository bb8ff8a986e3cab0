#include "driver/prune.h"

#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "results/checkpoint_place.h"
#include "results/error.h"
#include "results/kept_comparison.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::ArchivedFile;
using results::Json;

// Runs that stand in one line: of one device, in one suite.
using Line = std::pair<std::string, std::string>;

Line line_of(const Json& summary) {
  const Json& device = summary.at("device");
  return {device.value("uuid", device.at("name").get<std::string>()), summary.at("suite").get<std::string>()};
}

}  // namespace

std::vector<Pruned> choose_for_pruning(const results::Archive& archive, int keep) {
  std::map<Line, int> newer;
  std::set<Line> has_good;
  std::map<std::string, std::string> needed;  // id -> by whom
  for (const auto& [baseline, comparison] : results::baselines(archive.folder()))
    needed[baseline] = "the comparison " + comparison + " names it as its baseline";

  std::vector<Pruned> chosen;
  const auto files = archive.files();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (!file->problem.empty()) continue;
    const Json& summary = file->summary;
    const auto id = summary.at("id").get<std::string>();
    const bool good = summary.at("exit_code") == 0 && has_good.insert(line_of(summary)).second;
    const bool beyond = newer[line_of(summary)]++ >= keep;
    std::string why;
    if (const auto found = needed.find(id); found != needed.end()) {
      why = found->second;
    } else if (good) {
      why = "it is the last good run of its device and suite";
    }
    if (beyond) chosen.push_back({*file, why});
    if (beyond && why.empty()) continue;
    for (const auto& other : summary.value("rests_on", Json::array()))
      needed.emplace(other.get<std::string>(), "the record " + id + " rests on it");
  }
  return chosen;
}

bool remove_record(const results::Archive& archive, const ArchivedFile& file) {
  std::error_code error;
  const fs::path place = archive.place(file);
  // First the record: without it nobody looks for its checkpoints.
  const bool there = fs::remove(place, error);
  if (!error) fs::remove_all(results::checkpoint_root(place), error);
  if (error) {
    throw results::EnvironmentError(place.string() + ": cannot be removed: " + error.message(),
                                    "check who may write in that folder");
  }
  return there;
}

}  // namespace ampgate::driver
