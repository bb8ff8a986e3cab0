#include "precision/region.h"

#include <ATen/autocast_mode.h>

#include <algorithm>

namespace ampgate::precision {
namespace {

thread_local std::vector<std::string> islands;
thread_local std::vector<std::string_view> stack;

}  // namespace

IslandScope::IslandScope(std::vector<std::string> paths)
    : previous_(std::exchange(islands, std::move(paths))) {}

IslandScope::~IslandScope() { islands = std::move(previous_); }

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

bool in_island() {
  return !islands.empty() && std::find(islands.begin(), islands.end(), region_path()) != islands.end();
}

at::Tensor to_float(const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
}

}  // namespace detail
}  // namespace ampgate::precision
