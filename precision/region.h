// Named parts of a model: a name scope for whoever looks on, and an FP32 island for the trials that list the
// name.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ampgate::precision {

// The regions that run in FP32 on this thread, set by the trial; empty for every precision but `islands-*`.
// A region is named by its path: the names of the regions around it and its own, joined by dots.
class IslandScope {
 public:
  explicit IslandScope(std::vector<std::string> paths);
  ~IslandScope();
  IslandScope(const IslandScope&) = delete;
  IslandScope& operator=(const IslandScope&) = delete;

 private:
  std::vector<std::string> previous_;
};

// What the scope around lists, as given.
const std::vector<std::string>& island_paths();

// Names of the regions that this thread is in, outermost first. Read by the interceptor of phase 1.
const std::vector<std::string_view>& region_stack();

// Path of the region that this thread is in; empty outside of all regions.
std::string region_path();

// Autocast off on every device type, for the life of the object.
class NoAutocast {
 public:
  NoAutocast();
  ~NoAutocast();
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  bool cpu_;
  bool cuda_;
};

namespace detail {

class RegionScope {
 public:
  explicit RegionScope(std::string_view name);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;
};

// Does the trial list the innermost region?
bool in_island();

at::Tensor to_float(const at::Tensor& tensor);

}  // namespace detail

// Runs fn(tensors...) inside the region `name`. If the trial lists its path, 16-bit tensors are raised to
// FP32 first and autocast is off inside: switching autocast off alone would leave 16-bit inputs as they are.
template <typename Function, typename... Tensors>
auto region(std::string_view name, Function&& fn, const Tensors&... tensors) {
  detail::RegionScope scope(name);
  if (detail::in_island()) {
    const NoAutocast off;
    return std::forward<Function>(fn)(detail::to_float(tensors)...);
  }
  return std::forward<Function>(fn)(tensors...);
}

}  // namespace ampgate::precision
