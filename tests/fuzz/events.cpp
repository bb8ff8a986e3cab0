// An array of events of a worker, in the order in which they come: the driver takes them, or breaks off.
#include "driver/conversation.h"
#include "refused.h"

using namespace ampgate;
using results::Json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Json plan{{"phase", "validate"},
                  {"trials", {{{"id", "matmul/2x3x4/fp32"}}, {{"id", "matmul/2x3x4/cast-bf16"}}}}};
  int told = 0;
  const driver::EventSink sink = [&](const std::string&, const Json& event) {
    told += event.is_object() ? 1 : 0;
  };
  driver::Conversation conversation({.build_id = "b", .folder = "f", .log = "l"}, plan, sink);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Json events = Json::parse(text, nullptr, false);
  fuzz::allow_refusal([&] {
    if (!events.is_array()) return conversation.take(text);
    for (const auto& event : events)
      conversation.take(event.dump(-1, ' ', false, Json::error_handler_t::replace));
  });
  return 0;
}
