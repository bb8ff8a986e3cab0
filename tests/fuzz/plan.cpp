// A plan, as a worker reads it.
#include "refused.h"
#include "results/protocol.h"

using namespace ampgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] { results::parse_plan({reinterpret_cast<const char*>(data), size}, "input"); });
  return 0;
}
