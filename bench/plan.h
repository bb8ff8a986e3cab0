// The plan of phases `bench` and `inspect`, as docs/protocol.md describes it, with its words turned into
// types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/settings.h"
#include "precision/precision.h"
#include "results/json.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::bench {

enum class Phase { kBench, kInspect, kCeilings };

// What the cells of a process measure. `kDefaultMalloc` is `kWarm` under glibc's own malloc thresholds.
enum class Mode { kWarm, kCold, kLatency, kSustained, kDefaultMalloc };

std::string_view to_string(Mode mode);

struct Trial {
  std::string id;
  const precision::Precision* precision = nullptr;
  std::optional<results::Verdict> verdict{};  // of the validation; absent: the gate stays shut
  results::Json evidence = nullptr;
  std::vector<std::string> islands{};  // regions in FP32, as the evidence names them
};

// The trials of one case and shape: they are measured together, interleaved.
struct Group {
  std::string case_name;
  std::vector<std::int64_t> sizes;
  std::vector<Trial> trials;
};

struct Schedule {
  Mode mode = Mode::kWarm;
  int blocks = 1;
  int first_block = 0;
  std::int64_t cell_time_ns = 15'000'000;
  std::uint64_t order_seed = 0;
  std::int64_t sustained_time_ns = 0;           // kSustained: of each precision alone
  std::optional<std::int64_t> group_time_ns{};  // of a group, after which no further block begins
};

struct Plan {
  Phase phase = Phase::kBench;
  std::string build_id;
  std::string device;
  std::uint64_t seed = 0;
  int process = 0;
  results::Rules rules;
  std::string rules_sha256;
  backends::ProcessSettings settings;
  Schedule schedule;
  std::vector<Group> groups;
};

// Throws results::UsageError that names what is missing or of the wrong type.
Plan parse_plan(const results::Json& document);

}  // namespace ampgate::bench
