// {"evidence", "observed"}: the gate's word on evidence of any form.
#include "refused.h"
#include "results/gate.h"

using namespace ampgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] {
    const auto given = results::parse_strict({reinterpret_cast<const char*>(data), size}, "input");
    const auto answer =
        results::check_gate(given.at("evidence"), results::Verdict::kPass, given.at("observed"), {});
    if (!answer.open && answer.reason.empty()) __builtin_trap();
  });
  return 0;
}
