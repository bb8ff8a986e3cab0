// Takes a checkpoint apart with suspicion. Everything here throws std::invalid_argument, or FileError from
// ObjectReader, and names what is missing or both values that differ.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "precision/grad_scaler.h"
#include "results/object_reader.h"

namespace ampgate::cases {

constexpr const char* kCheckpointState = "the checkpoint's state";  // `where` of its readers

// Both have the same members and values; errors name the first that differs by its path under `name`.
void check_same(const results::Json& there, const results::Json& own, const std::string& name = "");

std::int64_t read_count(results::ObjectReader& reader, const std::string& key,
                        std::int64_t most = std::numeric_limits<std::int64_t>::max());
std::vector<std::int64_t> read_counts(results::ObjectReader& reader, const std::string& key);
// Finite or one of the words that stand for what is not.
double read_number(results::ObjectReader& reader, const std::string& key);
// An array of `wanted` objects.
std::vector<results::ObjectReader> read_objects(results::ObjectReader& reader, const std::string& key,
                                                std::size_t wanted);

results::Json scaler_json(const precision::GradScalerState& state);
precision::GradScalerState read_scaler(results::ObjectReader reader);

// The tensors of a checkpoint, each of which must find its place.
class CheckpointTensors {
 public:
  explicit CheckpointTensors(const std::map<std::string, at::Tensor>& all) : all_(all) {}
  const at::Tensor& take(const std::string& name);
  // Those whose names begin so, by the rest of their names.
  std::map<std::string, at::Tensor> take_all(const std::string& prefix);
  void refuse_rest() const;

 private:
  const std::map<std::string, at::Tensor>& all_;
  std::set<std::string> taken_;
};

}  // namespace ampgate::cases
