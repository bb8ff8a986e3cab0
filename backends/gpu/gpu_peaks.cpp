#include <array>
#include <string_view>

#include "backends/gpu/gpu_backend.h"

namespace ampgate::backends::gpu {
namespace {

// Operations a cycle of one compute unit, dense, a multiply-add counts two; 0: the unit has no such format.
// NVIDIA: white papers of A100 (2020), GA102 (2020), Ada (2022), H100 (2022) and the Blackwell architecture
// brief (2024); AMD: CDNA 2 (2021) and CDNA 3 (2023) white papers. Vector and matrix units together are not
// counted twice: the faster one stands here.
struct Unit {
  std::string_view architecture;  // begins with this
  double fp32, tf32, fp16, bf16;
};

constexpr std::array<Unit, 9> kUnits{{
    {"7.0", 128, 0, 1024, 128},
    {"7.5", 128, 0, 1024, 128},
    {"8.0", 128, 1024, 2048, 2048},
    {"8.6", 256, 512, 1024, 1024},
    {"8.9", 256, 512, 1024, 1024},
    {"9.0", 256, 2048, 4096, 4096},
    {"10.", 256, 4096, 8192, 8192},
    {"gfx90a", 256, 0, 1024, 1024},
    {"gfx942", 256, 1024, 2048, 2048},
}};

}  // namespace

Peaks gpu_peaks(const kernels::DeviceInfo& info) {
  Peaks peaks;
  if (info.memory_clock_hz > 0 && info.memory_bus_bits > 0) {
    // Two transfers a clock.
    peaks.memory_bytes_per_s = 2.0 * info.memory_clock_hz * info.memory_bus_bits / 8.0;
  }
  for (const auto& unit : kUnits) {
    if (!info.architecture.starts_with(unit.architecture) || info.clock_hz <= 0) continue;
    const double cycles = info.clock_hz * info.compute_units;
    for (const auto& [format, flops] : {std::pair{"fp32", unit.fp32}, std::pair{"tf32", unit.tf32},
                                        std::pair{"fp16", unit.fp16}, std::pair{"bf16", unit.bf16}}) {
      if (flops > 0) peaks.flops_per_s[format] = cycles * flops;
    }
  }
  peaks.source = std::to_string(info.compute_units) + " compute units of architecture " + info.architecture +
                 " at their highest clock" +
                 (peaks.flops_per_s.empty() ? ", whose operations a cycle are not known" : "");
  return peaks;
}

}  // namespace ampgate::backends::gpu
