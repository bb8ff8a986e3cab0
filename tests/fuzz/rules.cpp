// Rules: what is accepted says the same once it is written and read again.
#include "results/rules.h"

#include "refused.h"
#include "results/record.h"
#include "results/relaxed_rules.h"

using namespace ampgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] {
    const auto rules = results::parse_rules({reinterpret_cast<const char*>(data), size}, "input");
    const auto again = results::parse_rules(results::to_text(results::to_json(rules)), "written");
    if (results::rules_digest(rules) != results::rules_digest(again)) __builtin_trap();
    results::relaxed_rules({}, rules);
    if (!results::relaxed_rules(rules, again).empty()) __builtin_trap();
  });
  return 0;
}
