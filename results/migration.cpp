#include "results/migration.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ampgate::results {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = path.starts_with('/') ? 1 : 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// All objects at a place.
std::vector<Json*> objects_at(Json& record, const std::string& place) {
  std::vector<Json*> found{&record};
  for (const auto& part : parts_of(place)) {
    std::vector<Json*> below;
    for (Json* json : found) {
      if (part == "*" && json->is_array()) {
        for (auto& element : *json) below.push_back(&element);
      } else if (json->is_object() && json->contains(part)) {
        below.push_back(&json->at(part));
      }
    }
    found = std::move(below);
  }
  std::erase_if(found, [](const Json* json) { return !json->is_object(); });
  return found;
}

bool is_to_remove(const Json& step, const Json& value) {
  if (step.contains("unless_type")) return step["unless_type"] != value.type_name();
  if (step.contains("if_empty")) return value.is_object() && value.empty();
  if (!step.contains("unless_member")) return true;
  const Json& members = step["unless_member"];
  return value.is_object() && !value.empty() &&
         std::none_of(members.begin(), members.end(),
                      [&](const Json& key) { return value.contains(key.get<std::string>()); });
}

void remove(const Json& step, Json& object) {
  const auto key = step["remove"].get<std::string>();
  if (!object.contains(key) || !is_to_remove(step, object[key])) return;
  object.erase(key);
  if (!step.contains("absent")) return;
  Json& absent = object.emplace("absent", Json::object()).first.value();
  if (absent.is_object()) absent[key] = step["absent"];
}

void move(const Json& step, Json& object) {
  const auto key = step["move"].get<std::string>();
  if (!object.contains(key)) return;
  Json value = object[key];
  object.erase(key);
  Json* parent = &object;
  auto parts = parts_of(step["to"].get<std::string>());
  const std::string last = parts.back();
  parts.pop_back();
  for (const auto& part : parts) {
    parent = &parent->emplace(part, Json::object()).first.value();
    if (!parent->is_object()) return;
  }
  parent->emplace(last, std::move(value));
}

void add(const Json& step, Json& object) {
  const auto key = step["add"].get<std::string>();
  if (object.contains(key)) return;
  if (step.contains("value")) {
    object[key] = step["value"];
  } else if (const auto other = step["copy"].get<std::string>(); object.contains(other)) {
    object[key] = Json(object[other]);
  }
}

}  // namespace

void migrate_record(Json& record) {
  static const Json steps = Json::parse(kRecordMigrations);
  for (const Json& step : steps) {
    for (Json* object : objects_at(record, step["at"].get<std::string>())) {
      if (step.contains("remove")) remove(step, *object);
      if (step.contains("move")) move(step, *object);
      if (step.contains("add")) add(step, *object);
    }
  }
}

}  // namespace ampgate::results
