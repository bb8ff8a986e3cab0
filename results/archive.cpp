#include "results/archive.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <system_error>
#include <tuple>

#include "results/archive_index.h"
#include "results/error.h"
#include "results/exit_code.h"
#include "results/record.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = ".journal.jsonl";

// Files of `<archive>/<device>/`: what runs keep beside their records lies in folders of its own.
template <typename Visit>
void for_each_file(const fs::path& archive, Visit visit) {
  std::error_code error;
  const fs::directory_iterator devices(archive, error);
  if (error) {
    throw EnvironmentError(archive.string() + ": cannot be read: " + error.message(),
                           "choose another folder with --archive");
  }
  for (const auto& device : devices) {
    // Hidden ones are our own: kept comparisons.
    if (!device.is_directory(error) || device.path().filename().string().starts_with('.')) continue;
    for (const auto& file : fs::directory_iterator(device.path(), error)) visit(file);
  }
}

// A file may go while it is looked at: prune works beside everyone else.
bool stat(const fs::directory_entry& entry, ArchivedFile& file) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  file.bytes = entry.file_size(error);
  if (error) return false;
  const auto modified = entry.last_write_time(error);
  file.modified_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(modified.time_since_epoch()).count();
  return !error;
}

void look_into(const fs::path& place, ArchivedFile& file) {
  try {
    const Json record = read_record(place.string());
    file.summary = record_summary(record);
    const std::string name = file.path.stem().string();
    if (record.at("id") == name) return;
    file.problem = place.string() + ": is the record " + record.at("id").get<std::string>() +
                   " under another name. Give it its own: " + record.at("id").get<std::string>() + ".json";
    file.summary = nullptr;
  } catch (const Error& error) {
    file.problem = std::string(error.what()) + ". " + error.action();
  } catch (const Json::exception& error) {
    file.problem = place.string() + ": holds what it should not: " + error.what();
  }
}

// What the index says of a file, where it is the same still.
bool take_known(const std::map<fs::path, ArchivedFile>& known, ArchivedFile& file) {
  const auto found = known.find(file.path);
  if (found == known.end() || found->second.bytes != file.bytes ||
      found->second.modified_ns != file.modified_ns) {
    return false;
  }
  file = found->second;
  return true;
}

constexpr std::string_view kSecond = "20261130T053500Z";  // in which a record's run began

bool is_gone(const fs::path& place) {
  std::error_code ignored;
  return !fs::exists(place, ignored);
}

bool is_measured(const Json& trial) {
  return trial.contains("measurement") &&
         carries_numbers(measurement_verdict_from(trial["measurement"].at("verdict").get<std::string>()));
}

}  // namespace

Json record_summary(const Json& record) {
  const Json& plan = record.at("plan");
  const Json& device = record.at("device");
  Json summary{{"id", record.at("id")}, {"digest", record.at("digest")}};
  summary["began"] = record.at("run").value("started", "");
  summary["command"] = record.at("run").at("command");
  summary["ampgate"] = record.at("run").value("ampgate", "");
  for (const auto* key : {"name", "model", "uuid"}) {
    if (device.contains(key)) summary["device"][key] = device.at(key);
  }
  summary["suite"] = plan.at("suite");
  summary["seed"] = plan.at("seed");
  summary["rules_sha256"] = record.at("rules_sha256");
  summary["trials"] = record.at("trials").size();
  summary["verdicts"] = Json::object();
  std::size_t measured = 0;
  for (const auto& trial : record.at("trials")) {
    Json& count = summary["verdicts"][trial.at("verdict").get<std::string>()];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (is_measured(trial)) ++measured;
  }
  summary["measured"] = measured;
  const Json::json_pointer evidence("/evidence_source/id");
  if (record.contains(evidence)) summary["rests_on"].push_back(record.at(evidence));
  const Rules rules = parse_rules(record.at("rules").dump(), "/rules");
  for (const auto& [model, id] : rules.golden) summary["rests_on"].push_back(id);
  summary["exit_code"] = static_cast<int>(exit_code(record, rules));
  return summary;
}

Archive::Archive(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  if (!fs::is_directory(folder_, error)) {
    throw UsageError(folder_.string() + ": there is no such archive",
                     "name the folder of records with --archive, or make a record: ampgate run");
  }
}

std::vector<ArchivedFile> Archive::files() const { return look(true); }
std::vector<ArchivedFile> Archive::verified_files() const { return look(false); }

// What is there, oldest first, and not yet looked into.
std::vector<ArchivedFile> Archive::found() const {
  std::vector<ArchivedFile> files;
  for_each_file(folder_, [&](const fs::directory_entry& entry) {
    ArchivedFile file;
    if (entry.path().extension() != ".json" || !stat(entry, file)) return;
    file.path = entry.path().lexically_relative(folder_);
    files.push_back(std::move(file));
  });
  // Records are named by the second in which they began.
  const auto order = [](const ArchivedFile& file) {
    return std::tuple(file.path.filename().string().substr(0, kSecond.size()), file.modified_ns, file.path);
  };
  std::sort(files.begin(), files.end(),
            [&](const ArchivedFile& a, const ArchivedFile& b) { return order(a) < order(b); });
  return files;
}

std::vector<ArchivedFile> Archive::look(bool trust_index) const {
  const auto known = read_index(folder_);
  std::vector<ArchivedFile> files = found();
  bool changed = false;
  for (auto& file : files) {
    if (trust_index && take_known(known, file)) continue;
    look_into(place(file), file);
    changed = true;
  }
  std::erase_if(files,
                [&](const ArchivedFile& file) { return !file.problem.empty() && is_gone(place(file)); });
  if (changed || files.size() != known.size()) write_index(folder_, files);
  return files;
}

std::optional<ArchivedFile> Archive::newest(const std::function<bool(const Json& summary)>& fits,
                                            const std::function<void(const ArchivedFile&)>& skipped,
                                            const fs::path& in) const {
  const auto known = read_index(folder_);
  std::vector<ArchivedFile> files = found();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (!in.empty() && file->path.parent_path() != in) continue;
    if (!take_known(known, *file)) look_into(place(*file), *file);
    if (file->problem.empty()) {
      if (fits(file->summary)) return std::move(*file);
    } else if (skipped && !is_gone(place(*file))) {
      skipped(*file);
    }
  }
  return std::nullopt;
}

std::vector<fs::path> Archive::journals() const {
  std::vector<fs::path> found;
  for_each_file(folder_, [&](const fs::directory_entry& entry) {
    if (entry.path().filename().string().ends_with(kJournal)) found.push_back(entry.path());
  });
  std::sort(found.begin(), found.end());
  return found;
}

ArchivedFile Archive::find(const std::string& id) const {
  std::vector<ArchivedFile> found;
  for (auto& file : files()) {
    const std::string name = file.path.stem().string();
    if (name == id || file.path == fs::path(id) || place(file) == fs::path(id)) return file;
    if (name.starts_with(id) || name.ends_with(id)) found.push_back(std::move(file));
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw UsageError(folder_.string() + ": no record is called '" + id + "'",
                     "ampgate archive list shows all");
  }
  std::string names;
  for (const auto& file : found) names += (names.empty() ? "" : ", ") + file.path.stem().string();
  throw UsageError("'" + id + "' may be any of " + names, "give more of its id");
}

std::optional<ArchivedFile> Archive::last_good_before(const Json& record) const {
  const Json wanted = record_summary(record);
  const auto device = [](const Json& summary) {
    const Json& named = summary.at("device");
    return named.value("uuid", named.at("name").get<std::string>());
  };
  return newest([&](const Json& summary) {
    return device(summary) == device(wanted) && summary.at("suite") == wanted.at("suite") &&
           summary.at("exit_code") == 0 && summary.at("id") != wanted.at("id") &&
           summary.at("began").get<std::string>() <= wanted.at("began").get<std::string>() &&
           (summary.at("measured") > 0 || wanted.at("measured") == 0);
  });
}

}  // namespace ampgate::results
