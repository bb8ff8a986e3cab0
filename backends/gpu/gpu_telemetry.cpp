#include <map>
#include <string_view>

#include "backends/gpu/gpu_backend.h"
#include "backends/management/card.h"

namespace ampgate::backends::gpu {
namespace {

struct Managed {
  std::unique_ptr<management::Card> card;  // empty: `problem` says why
  std::string problem;
};

Managed open_card(const kernels::DeviceInfo& info) {
  try {
    const bool nvidia = std::string_view(AMPGATE_GPU_KIND) == "cuda";
    return {nvidia ? management::nvidia_card(info.uuid) : management::amd_card(info.pci_address), {}};
  } catch (const DeviceError& error) {
    return {nullptr, error.what()};
  }
}

// Looked up once: telemetry is read between cells.
const Managed& managed(const kernels::DeviceInfo& info) {
  static std::map<std::string, Managed> cards;
  const auto known = cards.find(info.uuid);
  return known != cards.end() ? known->second : cards.emplace(info.uuid, open_card(info)).first->second;
}

}  // namespace

Telemetry gpu_telemetry(const kernels::DeviceInfo& info) {
  const Managed& found = managed(info);
  return found.card ? found.card->telemetry() : Telemetry{};
}

Fields gpu_facts(const kernels::DeviceInfo& info) {
  const Managed& found = managed(info);
  return found.card ? found.card->facts() : Fields{{"management", "absent: " + found.problem}};
}

}  // namespace ampgate::backends::gpu
