// Settings that decide the answer: applied once at start-up, switched per trial, and read back for the
// evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/backend.h"

namespace ampgate::backends {

struct ProcessSettings {
  int threads = 1;
  std::vector<int> affinity{};  // CPUs this process may run on; empty: leave
  // Absent: glibc's defaults (the variant `default-malloc`).
  std::optional<std::int64_t> mmap_threshold_bytes{};
  std::optional<std::int64_t> trim_threshold_bytes{};
  // False: transparent huge pages are off for this process, whatever the system's mode. Whether one can be had
  // depends on how fragmented memory is at that moment.
  bool huge_pages = true;
};

// Once, before the first tensor is made. Throws std::runtime_error when one cannot be applied (thread count
// that LibTorch does not take, CPU that is not there).
void apply(const ProcessSettings& settings);

// Numerics of one trial, restored at the end of the scope: TF32 as asked, for products and convolutions
// alike; for the FP32 baseline reduced-precision reductions off as well. Trials keep LibTorch's defaults for
// those. Threads, determinism and LibTorch's other switches are put back too, should the trial change them.
class NumericsScope {
 public:
  NumericsScope(bool baseline, bool tf32);
  ~NumericsScope();
  NumericsScope(const NumericsScope&) = delete;
  NumericsScope& operator=(const NumericsScope&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

// Everything as it is now, read back from LibTorch, glibc and the kernel: threads, affinity, malloc
// thresholds, wait policy, TF32 and reduction flags, determinism, autocast, grad mode, relevant environment
// variables.
Fields read_settings();

// LibTorch's version, build, and the libraries it was built with (MKL, oneDNN, CUDA...).
Fields read_libtorch();

}  // namespace ampgate::backends
