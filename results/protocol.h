// Both ends of the pipe between driver and workers: the plan as one JSON document, events as JSON lines.
// docs/protocol.md describes every message.
#pragma once

#include <mutex>
#include <string>

#include "results/json.h"

namespace ampgate::results {

inline constexpr int kPlanVersion = 1;
inline constexpr int kEventsDescriptor = 3;

// Writes events, one JSON object a line, each with a single write, flushed at once. Safe for several threads. The driver
// gone (EPIPE) ends the process quietly: nobody is left to answer.
class EventWriter {
 public:
  // `target`: empty for descriptor 3, "-" for standard output, else a file. Throws EnvironmentError.
  explicit EventWriter(const std::string& target);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Adds "event": name as the first key.
  void write(std::string_view name, const Json& body = Json::object());

 private:
  int descriptor_;
  bool owned_;
  std::mutex mutex_;
};

// The plan from standard input, checked for version and the keys that every phase needs. Throws FileError.
Json read_plan();

}  // namespace ampgate::results
