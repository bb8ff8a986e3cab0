#include "cases/training/checkpoint_reader.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ampgate::cases {

using results::Json;
using results::ObjectReader;

namespace {

const Json kAbsent = nullptr;  // no checkpoint holds a null

}  // namespace

void check_same(const Json& there, const Json& own, const std::string& name) {
  const auto within = [&](const std::string& part) { return name.empty() ? part : name + "/" + part; };
  if (there.is_object() && own.is_object()) {
    for (const Json* side : {&own, &there}) {
      for (const auto& [key, value] : side->items()) {
        const auto found = there.find(key), wanted = own.find(key);
        check_same(found == there.end() ? kAbsent : *found, wanted == own.end() ? kAbsent : *wanted,
                   within(key));
      }
    }
  } else if (there.is_array() && own.is_array() && there.size() == own.size()) {
    for (std::size_t i = 0; i < own.size(); ++i) check_same(there[i], own[i], within(std::to_string(i)));
  } else if (there != own) {
    const auto text = [](const Json& value) { return value == kAbsent ? "absent" : value.dump(); };
    throw std::invalid_argument("the checkpoint's " + name + " is " + text(there) + ", this training's is " +
                                text(own));
  }
}

std::int64_t read_count(ObjectReader& reader, const std::string& key, std::int64_t most) {
  std::int64_t value = 0;
  reader.get(key);
  reader.read(key, value, 0, most);
  return value;
}

std::vector<std::int64_t> read_counts(ObjectReader& reader, const std::string& key) {
  const Json& counts = reader.get(key);
  const auto is_count = [](const Json& value) {
    return value.is_number_integer() && value >= 0 && value <= std::numeric_limits<std::int64_t>::max();
  };
  if (!counts.is_array() || !std::all_of(counts.begin(), counts.end(), is_count))
    reader.fail(key, "must be an array of counts, is " + results::described(counts));
  return counts.get<std::vector<std::int64_t>>();
}

double read_number(ObjectReader& reader, const std::string& key) {
  try {
    return results::number_from(reader.get(key));
  } catch (const std::invalid_argument& error) {
    reader.fail(key, error.what());
  }
}

std::vector<ObjectReader> read_objects(ObjectReader& reader, const std::string& key, std::size_t wanted) {
  const Json& array = reader.get(key);
  if (!array.is_array() || array.size() != wanted)
    reader.fail(key, "must be an array of " + std::to_string(wanted) + ", is " + results::described(array));
  std::vector<ObjectReader> readers;
  for (std::size_t i = 0; i < wanted; ++i)
    readers.emplace_back(array[i], kCheckpointState, Json::json_pointer("/" + key) / i);
  return readers;
}

Json scaler_json(const precision::GradScalerState& state) {
  if (state.empty()) return Json::object();
  return {{"scale", results::number(*state.scale)},
          {"growth_factor", results::number(*state.growth_factor)},
          {"backoff_factor", results::number(*state.backoff_factor)},
          {"growth_interval", *state.growth_interval},
          {"growth_tracker", *state.growth_tracker}};
}

namespace {

// As float32, which it is kept in.
double read_scale(ObjectReader& reader) {
  const double scale = read_number(reader, "scale");
  if (std::isfinite(scale) && std::abs(scale) > std::numeric_limits<float>::max())
    reader.fail("scale", "is beyond float32: " + results::to_text(reader.get("scale")));
  return scale;
}

}  // namespace

precision::GradScalerState read_scaler(ObjectReader reader) {
  if (reader.keys().empty()) return {};  // of a disabled one
  const auto whole = [&](const char* key, std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    reader.get(key);
    reader.read(key, value, low, high);
    return value;
  };
  using Interval = std::numeric_limits<std::int64_t>;
  using Tracker = std::numeric_limits<std::int32_t>;  // as the kernel keeps it
  precision::GradScalerState state{read_scale(reader), read_number(reader, "growth_factor"),
                                   read_number(reader, "backoff_factor"),
                                   whole("growth_interval", Interval::min(), Interval::max()),
                                   whole("growth_tracker", Tracker::min(), Tracker::max())};
  reader.refuse_unknown();
  return state;
}

const at::Tensor& CheckpointTensors::take(const std::string& name) {
  const auto found = all_.find(name);
  if (found == all_.end()) throw std::invalid_argument("the checkpoint has no tensor '" + name + "'");
  taken_.insert(name);
  return found->second;
}

std::map<std::string, at::Tensor> CheckpointTensors::take_all(const std::string& prefix) {
  std::map<std::string, at::Tensor> found;
  for (auto entry = all_.lower_bound(prefix); entry != all_.end() && entry->first.starts_with(prefix);
       ++entry) {
    taken_.insert(entry->first);
    found[entry->first.substr(prefix.size())] = entry->second;
  }
  return found;
}

void CheckpointTensors::refuse_rest() const {
  for (const auto& [name, tensor] : all_) {
    if (taken_.count(name) == 0)
      throw std::invalid_argument("the checkpoint's tensor '" + name + "' has no place in this training");
  }
}

}  // namespace ampgate::cases
