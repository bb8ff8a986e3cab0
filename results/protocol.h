// Both ends of the pipe between driver and workers: the plan as one JSON document, events as JSON lines.
// docs/protocol.md describes every message.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "results/json.h"

namespace ampgate::results {

inline constexpr int kPlanVersion = 1;
inline constexpr int kEventsDescriptor = 3;

// Writes events, one JSON object a line, each with a single write, flushed at once. Safe for several threads.
// The driver gone (EPIPE) ends the process quietly: nobody is left to answer. A body of the user's that
// closed the descriptor, or put another file in its place, ends it with exit code 1: that trial crashed, no
// other.
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
  bool is_still_open() const;

  int descriptor_;
  std::pair<std::uint64_t, std::uint64_t> file_;  // device and inode behind it
  bool owned_;
  void (*previous_)(int);  // what SIGPIPE did before: it is ignored while this object lives
  std::mutex mutex_;
};

// Checks a plan's version and the keys that its phase needs. Throws FileError that names `where` and the JSON
// pointer.
Json parse_plan(std::string_view text, const std::string& where);

// parse_plan of standard input.
Json read_plan();

}  // namespace ampgate::results
