// The command line as data. Reads no file and starts nothing, so that --help answers in milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ampgate::driver {

enum class Command {
  kRun,
  kValidate,
  kBench,
  kList,
  kDevices,
  kFingerprint,
  kReproduce,
  kSelfTest,
  kCompare,
  kExport,
  kDecide,
  kReport,
  kArchiveList,
  kArchiveShow,
  kArchiveVerify,
  kArchivePrune
};

struct Options {
  Command command = Command::kRun;
  std::string device;  // empty: the first usable accelerator, else cpu
  std::string suite = "standard";
  std::vector<std::string> cases;       // patterns over case, case/shape or trial id; empty: all
  std::vector<std::string> precisions;  // patterns; empty: all
  std::vector<std::string> shapes;      // sizes of the user's own, as typed
  std::string shapes_file;              // more of them
  std::string sweep;                    // a range of sizes, as typed
  std::vector<std::string> case_files;  // cases of the user's own: files, or folders of them
  std::vector<std::string> libraries;   // with operators of the user's own
  std::string rules_file;               // empty: the default rules
  std::string archive = "results/archive";
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;           // absent: as many as the CPUs this process may use
  std::optional<int> processes;         // absent: as the rules say
  std::optional<double> width_percent;  // measure on until every interval is this narrow
  std::optional<double> budget_s;       // with a width: when to stop measuring
  bool precise = false;                 // a width of 1 %, and more processes
  bool cold = false, latency = false, sustained = false, default_malloc = false;  // modes beside `warm`
  std::string cpus;   // "0,2-5"; empty: one of each core that this process may use
  bool deep = false;  // selftest: every fault in every precision, and many seeds
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
  std::string worker;    // name of a worker folder, or a path to one; empty: the only one there is
  std::string torch;     // folder of an installed torch package, for workers that come without LibTorch
  std::string resume;    // a journal
  std::string evidence;  // bench: a record
  std::string in_turns;  // bench: the file in which runs that take turns meet
  int runs_in_turns = 2;
  std::string record;  // reproduce: a record; compare: A; archive show: an id
  std::string other;   // compare: B
  std::string trial;   // reproduce: a trial's id
  std::string from;    // reproduce: a checkpoint to go on from
  std::string keep;    // reproduce: where the checkpoint after the last step goes
  std::optional<int> steps;
  std::optional<int> keep_records;   // archive prune: of each device and suite
  bool against_archive = false;      // compare: A is the last good run of B's device
  std::string junit;                 // compare: a file to write it to as JUnit XML
  std::string format = "csv";        // export
  std::vector<std::string> records;  // decide, report
  bool csv = false;                  // decide
  std::string out;                   // export, report: a file; empty: standard output, report.html
  std::string command_line;
};

// Are the sizes the user's own, instead of a suite's?
inline bool has_own_shapes(const Options& options) {
  return !options.shapes.empty() || !options.shapes_file.empty() || !options.sweep.empty();
}

// Nothing: help or version was asked for and printed. Throws results::UsageError.
std::optional<Options> parse_options(int argc, const char* const* argv);

}  // namespace ampgate::driver
