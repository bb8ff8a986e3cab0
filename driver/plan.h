// What a run will do, fixed before anything runs: trials in order, seed, settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/manifest.h"
#include "driver/options.h"
#include "driver/own_shapes.h"
#include "results/json.h"

namespace ampgate::driver {

// What a run is of: cases with sizes of a suite or of the user's own, in the order of trials. Throws
// results::UsageError for an unknown suite, and what own_shapes() throws.
std::vector<CaseShape> select_shapes(const Manifest& manifest, const Options& options);

struct Trial {
  std::string id;  // "matmul/512x512x512/cast-fp16"
  std::string case_name;
  std::string shape_name;
  std::vector<std::string> dims;  // names of the sizes in `shape`
  std::vector<std::int64_t> shape;
  std::string precision;

  // "matmul/512x512x512": the trials that run together, `fp32` first.
  std::string group() const { return case_name + "/" + shape_name; }
};

inline constexpr auto kBaseline = "fp32";

// Trials of these shapes that the options select, those of a case and shape together, `fp32` first; it is
// there whenever another precision of that case is. `tf32`: plan it where the user did not ask. Throws
// results::UsageError for a pattern that matches nothing, or no trial at all.
std::vector<Trial> select_trials(const Manifest& manifest, const std::vector<CaseShape>& shapes,
                                 const Options& options, bool tf32);

// As in journals.
results::Json to_json(const Trial& trial);

// Throws results::Json::exception for what is not a trial.
Trial trial_from(const results::Json& json);

// {"name": "512x512x512", "dims": {"m": 512, ...}}: as in records.
results::Json shape_json(const Trial& trial);

// The order seed of a bench process: any two differ, and the same run gives the same.
std::uint32_t order_seed(std::uint64_t seed, int process);

}  // namespace ampgate::driver
