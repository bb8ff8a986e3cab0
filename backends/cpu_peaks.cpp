#include <ATen/Parallel.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "backends/cpu.h"

namespace ampgate::backends {
namespace {

// Above every clock at which a CPU was ever sold.
constexpr double kFastestClock = 6.5e9;

// A multiply-add counts two. Two units of the widest vectors a cycle is what the fastest cores have (Intel,
// "Optimization Reference Manual": two FMA ports; AMD, "Software Optimization Guide" for families 19h and
// 1Ah: two FMA pipes); AMX multiplies 16x16x32 16-bit numbers in 16 cycles.
struct PerCycle {
  double fp32;
  double fp16;
  double bf16;
};

PerCycle flops_per_cycle(const std::set<std::string>& isa) {
  const auto has = [&](const char* name) { return isa.count(name) != 0; };
  constexpr double kUnits = 2;
  double lanes = 4;
  if (has("avx2")) lanes = 8;
  if (has("avx512f") || has("sve")) lanes = 16;
  const double fp32 = kUnits * 2 * lanes * (has("asimd") ? 2 : 1);  // server ARM cores have four such units
  PerCycle rates{fp32, fp32, fp32};
  if (has("avx512_fp16") || has("fphp")) rates.fp16 *= 2;
  if (has("avx512_bf16")) rates.bf16 *= 2;
  if (has("bf16")) rates.bf16 *= 4;  // BFMMLA
  constexpr double kTile = 2.0 * 16 * 16 * 32 / 16;
  if (has("amx_fp16")) rates.fp16 = kTile;
  if (has("amx_bf16")) rates.bf16 = kTile;
  return rates;
}

double clock_hz(std::string& source) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double khz = 0;
  if (file >> khz && khz > 0) {
    source = "at the highest clock that the kernel names";
    return 1e3 * khz;
  }
  source = "at 6.5 GHz, since this machine names no clock";
  return kFastestClock;
}

}  // namespace

Peaks cpu_peaks(const std::string& isa) {
  std::set<std::string> names;
  std::istringstream words(isa);
  for (std::string word; words >> word;) names.insert(word);

  Peaks peaks;
  std::string clock;
  const double cycles = clock_hz(clock) * at::get_num_threads();
  const PerCycle rates = flops_per_cycle(names);
  peaks.flops_per_s = {
      {"fp32", cycles * rates.fp32}, {"fp16", cycles * rates.fp16}, {"bf16", cycles * rates.bf16}};
  peaks.source = std::to_string(at::get_num_threads()) + " threads, two of the widest vector units each, " +
                 clock + "; the memory's own rate is not known";
  return peaks;
}

}  // namespace ampgate::backends
