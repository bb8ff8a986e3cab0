// A device: who it is, what it can do, how its time and memory are measured. The CPU is built in; `cuda` and
// `rocm` are shared modules (libampgate-cuda.so, libampgate-rocm.so) that are loaded when such a device is
// asked for.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace ampgate::backends {

// No such device, no module, no driver. The text says what to do.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Ordered key/value pairs, e.g. {"model", "AMD EPYC"}, {"uuid", ...}; copied into records as they are.
using Fields = std::vector<std::pair<std::string, std::string>>;

struct Identity {
  std::string uuid;   // what the gate binds to
  std::string model;  // what comparisons bind to
  Fields fields;      // driver, runtime and library versions, compute units, ATen capability, microcode...
  std::int64_t memory_bytes = 0;
};

// Elapsed device time between start() and stop(), awaited.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual std::int64_t elapsed_ns() = 0;
  // What the host spent between start() and stop(): on a device that works beside it, handing the calls over.
  virtual std::int64_t host_ns() { return elapsed_ns(); }
};

struct MemoryUse {
  std::int64_t peak_bytes = 0;  // above what was live when the measurement began
  std::int64_t allocations = 0;
  std::int64_t retained_bytes = 0;  // still live afterwards, outputs released
};

// Passes over one buffer in the device's memory: what its ceilings are measured with, and what empties its
// caches. A pass has ended when synchronize() returns.
class MemoryPasses {
 public:
  virtual ~MemoryPasses() = default;
  virtual void read() = 0;   // every byte once
  virtual void write() = 0;  // every byte once
  virtual void copy() = 0;   // one half to the other
};

// What a device says of itself at this moment. Absent: it does not say.
struct Telemetry {
  std::optional<double> clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> energy_j;         // a counter: differences count
  std::optional<std::string> throttled;   // the reasons in words; empty: runs as fast as it may
  std::optional<double> throttle_events;  // a counter
};

// Rates that the device cannot pass, from what its maker says of it: a time beyond them is an error of ours.
struct Peaks {
  std::map<std::string, double> flops_per_s;  // by format: "fp32", "tf32", "fp16", "bf16"
  std::optional<double> memory_bytes_per_s;   // of the memory behind all caches
  std::string source;                         // how they were made, in words
};

// Counts what a device's allocator is asked for between begin() and end(). Never while something is timed.
class MemoryMeter {
 public:
  virtual ~MemoryMeter() = default;
  virtual void begin() = 0;
  virtual MemoryUse end() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;    // "cpu", "cuda:0", "rocm:0"
  virtual c10::Device device() const = 0;  // as LibTorch calls it
  virtual Identity identity() const = 0;
  // Empty when operators may run in this type (tf32: FP32 products in TF32); else the reason.
  virtual std::string unsupported(c10::ScalarType type, bool tf32) const = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Timer> timer() = 0;
  virtual std::unique_ptr<MemoryMeter> memory_meter() = 0;
  // A buffer of `bytes`, rounded to whole pages.
  virtual std::unique_ptr<MemoryPasses> memory_passes(std::int64_t bytes) = 0;
  // Of the caches between the processors that this process uses and memory, all of the last level together;
  // 0: not known.
  virtual std::int64_t last_level_cache_bytes() const = 0;
  virtual Telemetry telemetry() = 0;
  virtual Peaks peaks() const = 0;
  // The same as backends::digest(), computed where the tensor is.
  virtual std::string digest(const at::Tensor& tensor) = 0;
  // Why `body` cannot be recorded as a stream of device work: it waits for the device, reads from it or asks
  // the driver for memory. Empty: it can, or the device has no such streams. Calls `body` up to twice.
  virtual std::string capture_problem(const std::function<void()>& body) = 0;
};

// `name` is "cpu", "cuda:N" or "rocm:N". Loads the module from the folder of the running program. Throws
// DeviceError.
std::unique_ptr<Backend> open(const std::string& name);

struct Found {
  std::string name;
  std::optional<Identity> identity;  // absent: not usable, `problem` says why and what to do
  std::string problem;
};

// Every backend that this program knows, usable or not. Never throws for a device that is missing.
std::vector<Found> probe();

}  // namespace ampgate::backends
