// What a vendor's management library says of one card: who it is, and how it does at this moment. The
// libraries belong to the driver, so they are opened when they are there and never linked.
#pragma once

#include <memory>
#include <string>

#include "backends/backend.h"

namespace ampgate::backends::management {

class Card {
 public:
  virtual ~Card() = default;
  // Serial number, board, firmware, limits, error counters, link, who else uses it. What cannot be told has
  // the reason in the place of the value: "not told: Not Supported".
  virtual Fields facts() const = 0;
  virtual Telemetry telemetry() const = 0;
};

// By NVML (NVIDIA's "NVML API Reference Guide"; only entry points that are part of its stable interface).
// Throws DeviceError where the library is missing, does not start, or does not know the card.
std::unique_ptr<Card> nvidia_card(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");

// By ROCm SMI ("ROCm SMI API reference"), and the kernel driver's files for what it does not tell; by the
// PCI address as the kernel writes it, 0000:c3:00.0. The same errors; `devices` is where the files are.
std::unique_ptr<Card> amd_card(const std::string& pci_address,
                               const std::string& library = "librocm_smi64.so",
                               const std::string& devices = "/sys/bus/pci/devices");

}  // namespace ampgate::backends::management
