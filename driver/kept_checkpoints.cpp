#include "driver/kept_checkpoints.h"

#include <fmt/format.h>

#include "driver/quoting.h"

namespace ampgate::driver {

namespace fs = std::filesystem;
using results::Json;

void move_checkpoints(Json& trial, const fs::path& from, const fs::path& to) {
  if (!trial.contains("checkpoints")) return;
  for (auto& [name, kept] : trial["checkpoints"].items()) {
    if (!kept.contains("folder")) continue;
    const fs::path folder = fs::absolute(from / kept.at("folder").get<std::string>()).lexically_normal();
    kept["folder"] = folder.lexically_relative(fs::absolute(to).lexically_normal()).string();
  }
}

std::vector<std::string> replay_lines(const Json& record, const std::string& path,
                                      const std::string& worker) {
  const std::string where = worker.empty() ? "" : " --worker " + word(absolute(worker));
  std::vector<std::string> lines;
  for (const auto& trial : record.at("trials")) {
    const Json bad = trial.value(Json::json_pointer("/checkpoints/before_bad"), Json());
    if (bad.is_null()) continue;
    const auto id = trial.at("id").get<std::string>();
    lines.push_back(fmt::format("Step {} made {} fail. That batch again: ampgate reproduce {} {}{}",
                                bad.at("step").get<std::int64_t>(), id, word(path), id, where));
  }
  return lines;
}

}  // namespace ampgate::driver
