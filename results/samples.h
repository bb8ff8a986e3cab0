// The rows that bench processes journal, and which of them estimates rest on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/journal.h"
#include "results/statistics.h"

namespace ampgate::results {

// What the cells of a process measured: "warm", "cold", "latency", "sustained", "default-malloc".
inline constexpr const char* kWarm = "warm";
// The modes beside `warm`, in the order in which they are measured.
const std::vector<std::string>& extra_modes();

// The mode of an entry of RunData::bench.
std::string mode_of(const Json& process);

struct Row {
  int process = 0;
  int block = 0;
  int order = 0;
  std::int64_t calls = 1;
  double time_ns = 0;  // of all calls
  double page_faults = 0;
  Json more = Json::object();  // "disturbed", "call_times_ns", "device"
};

// The mean of one call of the row.
Sample sample_of(const Row& row);

// "case/shape" of a trial's id.
std::string group_of(const std::string& id);

// Blocks in which a cell of any trial of the case was disturbed.
struct Disturbance {
  int blocks = 0;
  int left_out = 0;     // kept out of the numbers; the others stay, where too few undisturbed ones are left
  std::string example;  // the reason of the first one
};

// What estimates rest on, and what was kept out of them: in a process with undisturbed blocks for at least
// half of those that were asked for, the disturbed ones. In mode `sustained` nothing is kept out.
struct Selection {
  std::vector<Row> rows;  // all; those that were kept out have `left_out` in `more`
  std::vector<Sample> samples;
  Disturbance disturbance;
};

Selection select_samples(const RunData& run, const std::string& id, const std::string& mode);

}  // namespace ampgate::results
