// Backends in shared modules: found beside the running program, of the same build, loaded once and never
// unloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/backend.h"

namespace ampgate::backends {

struct Module {
  const char* abi;                                       // module_abi() of the module's build
  std::int64_t (*device_count)();                        // 0 without a driver; never throws
  std::unique_ptr<Backend> (*open)(std::int64_t index);  // index < device_count(); throws DeviceError
};

// The one symbol of a module: a function `const Module* ampgate_backend_module()` with C linkage. `abi` is
// compared before anything else is called.
inline constexpr const char* kModuleSymbol = "ampgate_backend_module";

// Build id and LibTorch version: classes are passed across, so both sides must come from one build.
std::string module_abi();

// The module "cuda" or "rocm" from the folder of the running program, or from AMPGATE_MODULE_DIR where that
// is set. Throws DeviceError that says why there is none and what to do.
const Module& load_module(const std::string& kind);

// Device `index` of the module. Throws DeviceError.
std::unique_ptr<Backend> open_device(const std::string& kind, std::int64_t index);

}  // namespace ampgate::backends
