#include "driver/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "driver/case_files.h"
#include "driver/names.h"
#include "driver/own_shapes.h"
#include "driver/quoting.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

const std::map<std::string, Command> kCommands{{"run", Command::kRun},
                                               {"validate", Command::kValidate},
                                               {"bench", Command::kBench},
                                               {"list", Command::kList},
                                               {"devices", Command::kDevices},
                                               {"fingerprint", Command::kFingerprint},
                                               {"reproduce", Command::kReproduce},
                                               {"selftest", Command::kSelfTest},
                                               {"compare", Command::kCompare},
                                               {"export", Command::kExport},
                                               {"decide", Command::kDecide},
                                               {"report", Command::kReport}};

const std::map<std::string, Command> kArchiveCommands{{"list", Command::kArchiveList},
                                                      {"show", Command::kArchiveShow},
                                                      {"verify", Command::kArchiveVerify},
                                                      {"prune", Command::kArchivePrune}};

constexpr auto kFooter =
    "Exit codes: 0 every required trial opened the gate and was measured; 1 one did not, or none was judged; "
    "2 bad usage, or a file that cannot be trusted; 3 the environment cannot (device, worker, archive); "
    "4 below a target of the rules; 5 a required time, or a target, that the measurement leaves unclear; "
    "compare: 1 a verdict got worse, 4 slower, 5 refused, ambiguous or nothing in common; "
    "128 + N ended by signal N, as 130 by Ctrl-C: what was finished is kept, and the run can be resumed.\n"
    "An answer for this machine: ampgate run";

template <typename Number>
bool is_number(const std::string& text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// CLI11 itself clamps what does not fit. Workers read seeds as signed numbers of 64 bits.
std::string seed_problem(const std::string& text) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  std::uint64_t seed = 0;
  if (is_number(text, seed) && seed <= static_cast<std::uint64_t>(kLargest)) return "";
  return "'" + text + "' is no whole number from 0 to " + std::to_string(kLargest);
}

// CLI::Range lets NaN through: it compares false with both ends.
std::string seconds_problem(const std::string& text) {
  double seconds = 0;
  if (is_number(text, seconds) && std::isfinite(seconds) && seconds >= 1.0 && seconds <= 1e6) return "";
  return "'" + text + "' is no number of seconds from 1 to 1000000";
}

// Above 50 % an interval says nothing.
std::string percent_problem(const std::string& text) {
  double percent = 0;
  if (is_number(text, percent) && std::isfinite(percent) && percent > 0 && percent <= 50) return "";
  return "'" + text + "' is no percentage above 0 and up to 50";
}

// An empty word would otherwise mean the default: most likely a shell variable that was not set.
void refuse_empty_values(CLI::App& command) {
  for (auto* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->check([](const std::string& text) { return text.empty() ? "must not be empty" : ""; });
  }
}

void add_output(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "JSON on standard output; progress goes to standard error");
  command.add_option("--worker", options.worker, "Worker folder: its name, or a path (AMPGATE_WORKER)");
  command
      .add_option("--torch", options.torch,
                  "Folder of an installed torch package, for the workers of a slim bundle (AMPGATE_TORCH)")
      ->type_name("DIR");
}

void add_case(CLI::App& command, Options& options) {
  command.add_option("--case", options.cases, "Only what this pattern names; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_files(CLI::App& command, Options& options) {
  command
      .add_option("--case-file", options.case_files,
                  "Cases of your own: a JSON file, or a folder of them; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--load-library", options.libraries,
          "A program that your cases need: a shared library that registers operators, a model's own file "
          "(.pt, .pt2); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_seed(CLI::App& command, Options& options) {
  command.add_option("--seed", options.seed, "Seed of inputs and orders; default 1")
      ->type_name("UINT")
      ->check(seed_problem);
}

void add_selection(CLI::App& command, Options& options) {
  command.add_option("--suite", options.suite, "smoke, standard, large or examples")->capture_default_str();
  add_case(command, options);
  add_files(command, options);
  command.add_option("--precision", options.precisions, "Only these precisions, separated by commas")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command
      .add_option("--shape", options.shapes,
                  "Sizes of your own for the cases of --case, instead of a suite's: 512x256x64, or "
                  "m=512,n=256,k=64; may be repeated")
      ->type_name("SIZES")
      ->allow_extra_args(false);
  command.add_option("--shapes", options.shapes_file, "A CSV file of such sizes: case,shape or case,m,n,k")
      ->type_name("FILE");
  command
      .add_option(
          "--sweep", options.sweep,
          "A geometric range of sizes: m=64:4096, m,n,k=64:1024:1.5, all=64:1024; says how time and memory "
          "grow and where 16 bit pays")
      ->type_name("RANGE");
}

// A suite has shapes of its own, so the two exclude each other.
void refuse_suite_with_shapes(const CLI::App& command, Options& options) {
  if (!has_own_shapes(options)) return;
  if (command.get_option("--suite")->count() > 0) {
    throw results::UsageError(
        "--suite and sizes of your own exclude each other: a suite has shapes of its own",
        "leave one of them out");
  }
  if (!options.sweep.empty() && !options.shapes_file.empty()) {
    throw results::UsageError("--sweep and --shapes exclude each other", "leave one of them out");
  }
  if (!options.sweep.empty() && options.command != Command::kRun) {
    throw results::UsageError("--sweep measures how time grows, and this command does not measure",
                              "ampgate run --sweep, or give the sizes with --shape");
  }
  options.suite = kOwnSuite;
}

// The cases of files are the whole run, unless sizes are given for cases of the build.
void choose_files(const CLI::App& command, Options& options) {
  if (options.case_files.empty()) return;
  const auto* suite = command.get_option_no_throw("--suite");
  if (suite == nullptr && options.command != Command::kSelfTest) return;
  if (suite != nullptr && suite->count() > 0) {
    throw results::UsageError("--suite and --case-file exclude each other: a suite has cases of its own",
                              "leave one of them out");
  }
  if (has_own_shapes(options)) {
    throw results::UsageError("a case of a file has the sizes that its file says",
                              "leave --case-file out, or --shape, --shapes and --sweep");
  }
  options.suite = kFileSuite;
}

void add_archive(CLI::App& command, Options& options) {
  command.add_option("--archive", options.archive, "Folder of records")
      ->type_name("DIR")
      ->capture_default_str();
}

void add_device(CLI::App& command, Options& options) {
  command.add_option("--device", options.device,
                     "cpu, cuda:N, rocm:N or all; default: first accelerator, else cpu");
}

void add_processors(CLI::App& command, Options& options) {
  command.add_option("--threads", options.threads, "Threads of a worker; default: the CPUs it may use")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--cpus", options.cpus,
                  "Processors that a worker may use, as 0,2-5; default: one of each core")
      ->type_name("LIST");
}

void add_execution(CLI::App& command, Options& options) {
  add_device(command, options);
  command.add_option("--rules", options.rules_file, "What is accepted; default: the built-in rules")
      ->type_name("FILE");
  add_archive(command, options);
  add_seed(command, options);
  add_processors(command, options);
  command.add_flag("--dry-run", options.dry_run,
                   "Show the plan and an estimate of its time, and run nothing");
  command.add_flag("--quiet", options.quiet, "Print only the answer");
  command.add_option("--resume", options.resume, "Go on with a run that was stopped")->type_name("JOURNAL");
}

void add_measurement(CLI::App& command, Options& options) {
  command.add_flag("--precise", options.precise,
                   "Measure on until every interval is within 1 % of its median");
  command
      .add_option("--width", options.width_percent,
                  "Measure on until every interval is within this percentage of its median")
      ->type_name("PERCENT")
      ->check(percent_problem);
  command
      .add_option("--budget-s", options.budget_s,
                  "With --precise or --width: seconds of measuring at most; default 1800")
      ->check(seconds_problem);
  command.add_flag("--cold", options.cold, "Also with caches emptied before each call");
  command.add_flag("--latency", options.latency, "Also single calls: p50, p90, p99");
  command.add_flag("--sustained", options.sustained,
                   "Also each precision alone for 30 s (rules: sustained_s)");
  command.add_flag("--default-malloc", options.default_malloc,
                   "Also with the C library's own malloc thresholds");
  command
      .add_option("--processes", options.processes,
                  "Fresh processes per measurement; default: as the rules say")
      ->check(CLI::Range(1, 100));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* scope = &app;
  std::string words = "ampgate";
  while (!scope->get_subcommands().empty()) {
    scope = scope->get_subcommands().front();
    words += " " + scope->get_name();
  }
  const std::string help = "see " + words + " --help";
  const auto extras = app.remaining(true);
  if (!extras.empty() && extras.front().rfind('-', 0) == 0) {
    const std::string word = extras.front().substr(0, extras.front().find('='));
    throw results::UsageError("unknown option '" + word + "'",
                              suggest(word, option_names(*scope)) + " " + help);
  }
  if (const auto known = command_names(*scope); !known.empty()) {
    if (extras.empty()) throw results::UsageError("a command is missing", "commands: " + join(known, ", "));
    throw results::UsageError("unknown command '" + extras.front() + "'", suggest(extras.front(), known));
  }
  throw results::UsageError(error.what(), help);
}

void split_lists(std::vector<std::string>& words) {
  std::vector<std::string> pieces;
  for (const auto& word : words) {
    if (word.front() == ',' || word.back() == ',' || word.find(",,") != std::string::npos) {
      throw results::UsageError("--precision: an element of '" + word + "' is empty",
                                "put one comma between two names");
    }
    for (auto& piece : split(word, ',')) pieces.push_back(std::move(piece));
  }
  words = std::move(pieces);
}

std::string shell_quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./:=,@%+") == std::string::npos;
  return plain ? word : quoted(word);
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  options.command_line = "ampgate";
  for (int i = 1; i < argc; ++i) options.command_line += " " + shell_quoted(argv[i]);

  CLI::App app("May this operator or model run in FP16 or BF16 on this device, and what does each cost?",
               "ampgate");
  app.set_version_flag("--version", "ampgate " AMPGATE_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);

  auto& run = *app.add_subcommand("run", "Validate, then measure what passed");
  auto& validate = *app.add_subcommand("validate", "Validate alone");
  for (auto* command : {&run, &validate}) {
    add_selection(*command, options);
    add_execution(*command, options);
    add_output(*command, options);
  }
  add_measurement(run, options);

  auto& bench = *app.add_subcommand("bench", "Measure what an earlier validation let through");
  auto* evidence =
      bench.add_option("--evidence", options.evidence, "The record of that validation")->type_name("RECORD");
  add_case(bench, options);
  add_files(bench, options);
  bench.add_option("--precision", options.precisions, "Only these precisions")->allow_extra_args(false);
  add_execution(bench, options);
  add_measurement(bench, options);
  auto* in_turns =
      bench
          .add_option(
              "--in-turns", options.in_turns,
              "Take turns with other runs that are given the same file, so that compare sees the code "
              "and not the machine's own speed")
          ->type_name("FILE");
  bench.add_option("--runs-in-turns", options.runs_in_turns, "How many runs share that file")
      ->check(CLI::Range(2, 16))
      ->capture_default_str()
      ->needs(in_turns);
  add_output(bench, options);

  auto& list = *app.add_subcommand("list", "Cases, suites and precisions");
  add_selection(list, options);
  add_output(list, options);

  auto& devices = *app.add_subcommand("devices", "What is here, what it supports, and why not");
  add_output(devices, options);

  auto& fingerprint = *app.add_subcommand("fingerprint", "How a device does its arithmetic");
  add_device(fingerprint, options);
  add_processors(fingerprint, options);
  add_output(fingerprint, options);

  auto& reproduce = *app.add_subcommand("reproduce", "One trial again, from its record");
  reproduce.add_option("record", options.record, "The record")->required();
  reproduce.add_option("trial", options.trial, "The trial's id: case/shape/precision")->required();
  reproduce.add_option("--device", options.device, "Another device than the record's");
  auto* from = reproduce
                   .add_option("--from", options.from,
                               "Go on with a training from this checkpoint, instead of the one "
                               "before the batch that made it fail")
                   ->type_name("FOLDER");
  reproduce.add_option("--steps", options.steps, "With --from: how many; default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->needs(from);
  reproduce
      .add_option("--precision", options.precisions,
                  "With --from: go on under this precision, although the checkpoint is of another")
      ->allow_extra_args(false)
      ->needs(from);
  reproduce.add_option("--keep", options.keep, "With --from: a checkpoint after the last step")
      ->type_name("FOLDER")
      ->needs(from);
  add_files(reproduce, options);
  add_output(reproduce, options);

  auto& compare = *app.add_subcommand("compare", "Is record B right where A was, and as fast?");
  compare.add_option("A", options.record, "The record to compare with; with --against-archive: B")
      ->required();
  compare.add_option("B", options.other, "The record that is judged");
  compare.add_flag("--against-archive", options.against_archive,
                   "Compare with the last good run of the same device and suite");
  add_archive(compare, options);
  compare.add_option("--junit", options.junit, "Write the result as JUnit XML, too")->type_name("FILE");
  compare.add_flag("--json", options.json, "JSON on standard output");
  compare.add_flag("--quiet", options.quiet, "Print only the answer");

  auto& exported = *app.add_subcommand("export", "A record in a format that other tools read");
  exported.add_option("record", options.record, "The record")->required();
  exported.add_option("--format", options.format, "csv, google-benchmark or junit")
      ->check(CLI::IsMember({"csv", "google-benchmark", "junit"}))
      ->capture_default_str();
  exported.add_option("--out", options.out, "File to write; default: standard output")->type_name("FILE");

  auto& decide =
      *app.add_subcommand("decide", "FP16, BF16 or FP32: a table with a recommendation for each case");
  decide.add_option("records", options.records, "Records, of one or several devices")->required();
  auto* as_json = decide.add_flag("--json", options.json, "JSON on standard output");
  decide.add_flag("--csv", options.csv, "CSV on standard output")->excludes(as_json);

  auto& report = *app.add_subcommand("report", "One HTML page with plots of one or several records");
  report.add_option("records", options.records, "Records, of one or several devices")->required();
  report.add_option("--out", options.out, "File to write; default: report.html")->type_name("FILE");

  auto& archive = *app.add_subcommand("archive", "The records that were kept");
  archive.require_subcommand(1);
  auto& archived = *archive.add_subcommand("list", "All records, oldest first");
  archived.add_option("--device", options.device, "Only of devices whose name or model this pattern names")
      ->type_name("GLOB");
  auto& show = *archive.add_subcommand("show", "One record, as its run printed it");
  show.add_option("record", options.record, "Its id; a part from either end is enough")->required();
  show.add_flag("--quiet", options.quiet, "Print only the answer");
  auto& verify = *archive.add_subcommand("verify", "Is every file as it was written?");
  for (auto* command : {&archived, &show, &verify})
    command->add_flag("--json", options.json, "JSON on standard output");
  auto& prune = *archive.add_subcommand("prune", "Remove old records that nothing rests on");
  prune
      .add_option("--keep", options.keep_records,
                  "How many of the newest records of each device and suite stay in any case")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->required();
  prune.add_flag("--dry-run", options.dry_run, "Show what would go, and remove nothing");
  for (auto* command : {&archived, &show, &verify, &prune}) add_archive(*command, options);

  auto& selftest = *app.add_subcommand("selftest", "Does the detector catch faults put in on purpose?");
  selftest.add_option("--device", options.device,
                      "cpu, cuda:N or rocm:N; default: first accelerator, else cpu");
  add_case(selftest, options);
  add_files(selftest, options);
  add_seed(selftest, options);
  selftest.add_flag("--deep", options.deep, "Every fault in every precision, and 200 seeds without a fault");
  selftest.add_flag("--quiet", options.quiet, "Print only the answer");
  add_output(selftest, options);

  for (auto* parent : {&app, &archive}) {
    for (auto* command : parent->get_subcommands([](const CLI::App*) { return true; }))
      refuse_empty_values(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return std::nullopt;
  } catch (const CLI::CallForVersion& version) {
    app.exit(version);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }

  const auto* chosen = app.get_subcommands().front();
  if (chosen == &archive) {
    chosen = archive.get_subcommands().front();
    options.command = kArchiveCommands.at(chosen->get_name());
  } else {
    options.command = kCommands.at(chosen->get_name());
  }
  split_lists(options.precisions);
  refuse_suite_with_shapes(*chosen, options);
  choose_files(*chosen, options);
  if (!options.resume.empty()) {
    for (const auto* option : chosen->get_options()) {
      const auto name = option->get_name();
      const bool allowed = name == "--resume" || name == "--json" || name == "--quiet" ||
                           name == "--worker" || name == "--case-file" || name == "--load-library";
      if (option->count() > 0 && !allowed) {
        throw results::UsageError(name + " cannot be given with --resume: the journal fixes the run",
                                  "leave it out");
      }
    }
  } else if (options.command == Command::kBench && evidence->count() == 0) {
    throw results::UsageError("bench needs --evidence RECORD: it measures only what a validation let through",
                              "make one with: ampgate validate");
  }
  if (options.command == Command::kCompare && options.against_archive != options.other.empty()) {
    throw results::UsageError(options.against_archive
                                  ? "--against-archive finds A itself, and two records were given"
                                  : "compare needs two records, A and B",
                              "ampgate compare A B, or ampgate compare B --against-archive");
  }
  if (options.budget_s && !options.precise && !options.width_percent) {
    throw results::UsageError(
        "--budget-s limits how long --precise or --width measure on, and neither was given",
        "add one of them, or leave --budget-s out");
  }
  if (options.precise && options.width_percent) {
    throw results::UsageError("--precise is --width 1 with more processes: both were given",
                              "leave one of them out");
  }
  return options;
}

}  // namespace ampgate::driver
