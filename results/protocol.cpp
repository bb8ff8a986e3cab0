#include "results/protocol.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "results/error.h"
#include "results/object_reader.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

constexpr std::array<std::string_view, 8> kPhases{"validate", "repeat",   "bench",  "inspect",
                                                  "selftest", "ceilings", "resume", "fingerprint"};

int open_target(const std::string& target) {
  if (target == "-") return STDOUT_FILENO;
  if (target.empty()) {
    if (fcntl(kEventsDescriptor, F_GETFD) == -1) {
      throw EnvironmentError("descriptor 3, where events go, is not open",
                             "This program is started by ampgate; by hand, add --events -.");
    }
    return kEventsDescriptor;
  }
  const int descriptor = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor == -1) {
    throw EnvironmentError("cannot write events to " + target + ": " + std::strerror(errno),
                           "Give --events a file that can be written.");
  }
  return descriptor;
}

// Device and inode; {0, 0} where nothing is open.
std::pair<std::uint64_t, std::uint64_t> file_behind(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

std::string need_string(ObjectReader& reader, const std::string& key) {
  std::string value;
  reader.get(key);
  reader.read(key, value);
  if (value.empty()) reader.fail(key, "must not be empty");
  return value;
}

std::int64_t need_integer(ObjectReader& reader, const std::string& key, std::int64_t low,
                          std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
  std::int64_t value = low;
  reader.get(key);
  reader.read(key, value, low, high);
  return value;
}

void check_integers(ObjectReader& reader, const std::string& key, std::int64_t low) {
  const Json& values = reader.get(key);
  const bool good = values.is_array() && std::all_of(values.begin(), values.end(), [low](const Json& value) {
                      return value.is_number_integer() && value.get<std::int64_t>() >= low;
                    });
  if (!good) reader.fail(key, "must be an array of integers, each at least " + std::to_string(low));
}

void check_settings(ObjectReader reader) {
  need_integer(reader, "threads", 1, 1 << 20);
  check_integers(reader, "affinity", 0);
  if (reader.has("huge_pages")) {
    bool huge_pages = false;
    reader.read("huge_pages", huge_pages);
  }
  for (const char* threshold : {"mmap_threshold_bytes", "trim_threshold_bytes"}) {
    if (reader.has(threshold)) need_integer(reader, threshold, 0);
  }
}

void check_bench(ObjectReader reader) {
  need_integer(reader, "blocks", 1);
  need_integer(reader, "cell_time_ns", 1);
  need_integer(reader, "order_seed", 0);
  need_integer(reader, "first_block", 0);
  if (reader.has("mode")) need_string(reader, "mode");
  for (const char* time : {"sustained_time_ns", "group_time_ns"}) {
    if (reader.has(time)) need_integer(reader, time, 1);
  }
}

void check_selftest(ObjectReader reader) {
  bool deep = false;
  reader.get("deep");
  reader.read("deep", deep);
  need_integer(reader, "clean_seeds", 0, 1'000'000);
}

void check_checkpoint(ObjectReader reader) {
  need_string(reader, "folder");
  need_integer(reader, "steps", 1, std::numeric_limits<int>::max());
  for (const char* key : {"other_precision", "other_build"}) {
    bool allowed = false;
    reader.get(key);
    reader.read(key, allowed);
  }
  for (const char* key : {"digest", "keep"}) {
    if (reader.has(key)) need_string(reader, key);
  }
}

void check_trial(ObjectReader reader, const std::string& phase) {
  for (const char* key : {"id", "case", "precision"}) need_string(reader, key);
  check_integers(reader, "shape", 0);
  if (phase == "bench" || phase == "inspect") reader.object("evidence");
  if (phase == "resume") check_checkpoint(reader.object("checkpoint"));
  if (reader.has("verdict")) {
    try {
      verdict_from(need_string(reader, "verdict"));
    } catch (const std::invalid_argument& error) {
      reader.fail("verdict", error.what());
    }
  }
}

}  // namespace

EventWriter::EventWriter(const std::string& target)
    : descriptor_(open_target(target)),
      file_(file_behind(descriptor_)),
      owned_(!target.empty() && target != "-"),
      previous_(std::signal(SIGPIPE, SIG_IGN)) {}

EventWriter::~EventWriter() {
  std::signal(SIGPIPE, previous_);
  if (owned_) close(descriptor_);
}

bool EventWriter::is_still_open() const { return file_behind(descriptor_) == file_; }

void EventWriter::write(std::string_view name, const Json& body) {
  Json event = {{"event", name}};
  event.update(body);
  const std::string line = to_text(event) + "\n";
  const std::lock_guard lock(mutex_);
  if (!is_still_open()) {
    std::fputs("the descriptor of events was closed or replaced by what ran in this process\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }
  // A pipe takes a line in one write; only a signal or a full disk leaves a rest.
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      std::_Exit(static_cast<int>(ExitCode::kEnvironment));
    } else if (errno != EINTR) {
      throw EnvironmentError(std::string("cannot write an event: ") + std::strerror(errno),
                             "Make room, or give --events another file.");
    }
  }
}

Json parse_plan(std::string_view text, const std::string& where) {
  Json plan = parse_strict(text, where);
  ObjectReader reader(plan, where);
  const std::int64_t version = need_integer(reader, "ampgate_plan", 1);
  if (version != kPlanVersion) {
    reader.fail("ampgate_plan", "version " + std::to_string(version) + " is newer than this worker's " +
                                    std::to_string(kPlanVersion) +
                                    ": driver and worker are of different builds");
  }
  const std::string phase = need_string(reader, "phase");
  if (std::find(kPhases.begin(), kPhases.end(), phase) == kPhases.end()) {
    reader.fail("phase",
                "'" + phase +
                    "' is none of validate, repeat, bench, inspect, selftest, ceilings, resume, fingerprint");
  }
  for (const char* key : {"run_id", "build_id", "device", "rules_sha256"}) need_string(reader, key);
  need_integer(reader, "seed", 0);
  need_integer(reader, "process", 0);
  reader.object("rules");
  check_settings(reader.object("settings"));
  if (reader.has("checkpoints")) need_string(reader, "checkpoints");
  if (phase == "bench") check_bench(reader.object("bench"));
  if (phase == "selftest") check_selftest(reader.object("selftest"));

  const Json& trials = reader.get("trials");
  const bool without_trials = phase == "ceilings" || phase == "fingerprint";
  if (!trials.is_array() || trials.empty() != without_trials) {
    reader.fail("trials", without_trials ? "must be an empty array: this phase is about the device"
                                         : "must be an array of at least one trial");
  }
  for (std::size_t i = 0; i < trials.size(); ++i) {
    check_trial(ObjectReader(trials[i], where, Json::json_pointer("/trials") / i), phase);
  }
  return plan;
}

Json read_plan() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  return parse_plan(text, "standard input");
}

}  // namespace ampgate::results
