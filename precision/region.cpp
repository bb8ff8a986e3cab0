#include "precision/region.h"

#include <ATen/autocast_mode.h>

#include <algorithm>

#include "precision/formats.h"

namespace ampgate::precision {
namespace {

thread_local std::vector<std::string> islands;
thread_local std::vector<std::string_view> stack;

// Is this the path of the innermost region? Part by part: nothing may be allocated in a timed body.
bool is_here(std::string_view path) {
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (i > 0) {
      if (!path.starts_with('.')) return false;
      path.remove_prefix(1);
    }
    if (!path.starts_with(stack[i])) return false;
    path.remove_prefix(stack[i].size());
  }
  return path.empty();
}

}  // namespace

IslandScope::IslandScope(std::vector<std::string> paths)
    : previous_(std::exchange(islands, std::move(paths))) {}

IslandScope::~IslandScope() { islands = std::move(previous_); }

const std::vector<std::string>& island_paths() { return islands; }

const std::vector<std::string_view>& region_stack() { return stack; }

std::string region_path() {
  std::string path;
  for (const auto name : stack) {
    if (!path.empty()) path += '.';
    path += name;
  }
  return path;
}

NoAutocast::NoAutocast()
    : cpu_(at::autocast::is_autocast_enabled(at::kCPU)), cuda_(at::autocast::is_autocast_enabled(at::kCUDA)) {
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_enabled(at::kCUDA, false);
}

NoAutocast::~NoAutocast() {
  at::autocast::set_autocast_enabled(at::kCPU, cpu_);
  at::autocast::set_autocast_enabled(at::kCUDA, cuda_);
}

namespace detail {

RegionScope::RegionScope(std::string_view name) { stack.push_back(name); }

RegionScope::~RegionScope() { stack.pop_back(); }

bool in_island() { return std::any_of(islands.begin(), islands.end(), is_here); }

at::Tensor to_float(const at::Tensor& tensor) {
  return is_16_bit(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

}  // namespace detail
}  // namespace ampgate::precision
