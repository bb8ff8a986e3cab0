#include <charconv>

#include "backends/backend.h"
#include "backends/cpu.h"
#include "backends/modules.h"

namespace ampgate::backends {
namespace {

constexpr std::int64_t kMostDevices = 1024;

// N of "cuda:N"; -1 when it is not a plain number.
std::int64_t index_of(std::string_view digits) {
  std::int64_t index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool plain = error == std::errc() && end == digits.data() + digits.size();
  return plain && index >= 0 && index < kMostDevices ? index : -1;
}

Found found(const std::string& name) {
  try {
    return {name, open(name)->identity(), {}};
  } catch (const std::exception& error) {
    return {name, std::nullopt, error.what()};
  }
}

// All devices of a module; one entry with the reason when there are none.
void probe_module(const std::string& kind, std::vector<Found>& result) {
  std::int64_t count = 0;
  try {
    count = load_module(kind).device_count();
  } catch (const std::exception&) {
    count = 0;
  }
  if (count == 0) result.push_back(found(kind + ":0"));
  for (std::int64_t index = 0; index < count; ++index)
    result.push_back(found(kind + ":" + std::to_string(index)));
}

}  // namespace

std::unique_ptr<Backend> open(const std::string& name) {
  if (name == "cpu") return open_cpu();
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::int64_t index =
      colon == std::string::npos ? -1 : index_of(std::string_view(name).substr(colon + 1));
  if ((kind != "cuda" && kind != "rocm") || index < 0) {
    throw DeviceError("'" + name + "' is no device; use cpu, cuda:N or rocm:N with N from 0");
  }
  return open_device(kind, index);
}

std::vector<Found> probe() {
  std::vector<Found> result{found("cpu")};
  probe_module("cuda", result);
  probe_module("rocm", result);
  return result;
}

}  // namespace ampgate::backends
