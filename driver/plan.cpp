#include "driver/plan.h"

#include <algorithm>
#include <set>

#include "driver/names.h"
#include "driver/sweep.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::UsageError;

std::vector<std::string> wanted_precisions(const Manifest& manifest, const Options& options, bool tf32) {
  std::vector<std::string> wanted;
  if (options.precisions.empty()) {
    for (const auto& name : manifest.precisions) {
      if (name != "tf32" || tf32) wanted.push_back(name);
    }
    return wanted;
  }
  for (const auto& pattern : options.precisions) {
    const bool known = std::any_of(manifest.precisions.begin(), manifest.precisions.end(),
                                   [&](const auto& name) { return matches(pattern, name); });
    if (!known)
      throw UsageError("unknown precision '" + pattern + "'", suggest(pattern, manifest.precisions));
  }
  for (const auto& name : manifest.precisions) {
    if (std::any_of(options.precisions.begin(), options.precisions.end(),
                    [&](const auto& pattern) { return matches(pattern, name); })) {
      wanted.push_back(name);
    }
  }
  return wanted;
}

// Operators have no regions that could stay in FP32; training is tried in FP32 and under autocast alone.
bool applies(const std::string& precision, const CaseInfo& info) {
  const auto& own = info.precisions;
  if (!own.empty() && precision != kBaseline && std::find(own.begin(), own.end(), precision) == own.end())
    return false;
  if (info.training) return precision == kBaseline || precision.starts_with("autocast-");
  return info.model || !precision.starts_with("islands-");
}

// Does any pattern name this trial, by its case, its case and shape, or its id? Notes the patterns that did.
bool named(const Trial& trial, const std::vector<std::string>& patterns, std::set<std::string>& used) {
  bool any = patterns.empty();
  for (const auto& pattern : patterns) {
    if (matches(pattern, trial.case_name) || matches(pattern, trial.group()) || matches(pattern, trial.id)) {
      used.insert(pattern);
      any = true;
    }
  }
  return any;
}

Trial make_trial(const CaseInfo& info, const std::vector<std::int64_t>& sizes, const std::string& precision) {
  Trial trial{"", info.name, info.shape_name(sizes), info.dims, sizes, precision};
  trial.id = trial.group() + "/" + precision;
  return trial;
}

// Does the pattern name any trial of this case in that suite, in whatever precision?
bool named_in(const std::string& suite, const CaseInfo& info, const Manifest& manifest,
              const std::string& pattern) {
  const auto shapes = info.suites.find(suite);
  if (shapes == info.suites.end()) return false;
  std::set<std::string> used;
  return std::any_of(shapes->second.begin(), shapes->second.end(), [&](const auto& sizes) {
    return std::any_of(manifest.precisions.begin(), manifest.precisions.end(), [&](const auto& precision) {
      return applies(precision, info) && named(make_trial(info, sizes, precision), {pattern}, used);
    });
  });
}

// Where trainings were asked for in precisions that none of them has, says why; else nothing.
void refuse_precisions_of_trainings(const Manifest& manifest, const Options& options) {
  if (options.precisions.empty()) return;
  for (const auto& info : manifest.cases) {
    const auto shapes = info.suites.find(options.suite);
    if (shapes == info.suites.end() && !has_own_shapes(options)) continue;
    const bool meant = options.cases.empty() ||
                       std::any_of(options.cases.begin(), options.cases.end(), [&](const auto& pattern) {
                         return matches(pattern.substr(0, pattern.find('/')), info.name);
                       });
    if (meant && !info.training) return;
  }
  throw UsageError(
      "training cases have no trial in " + join(options.precisions, ", "),
      "weights in 16 bit lose their updates, and a gradient scaler refuses their gradients "
      "(\"Attempting to unscale FP16 gradients.\"); ask for fp32, autocast-fp16 or autocast-bf16. "
      "What becomes of a failing training with everything converted, its record says: "
      "/training/isolation/ways/cast");
}

[[noreturn]] void refuse_pattern(const std::string& pattern, const Manifest& manifest,
                                 const Options& options) {
  std::vector<std::string> suites, names;
  if (has_own_shapes(options)) {
    for (const auto& info : manifest.cases) names.push_back(info.name);
    const bool known = !cases_meant(manifest, {pattern}).empty();
    throw UsageError("'" + pattern + "' names " + (known ? "none of the shapes given" : "no case"),
                     known ? "name the case alone" : suggest(pattern.substr(0, pattern.find('/')), names));
  }
  for (const auto& suite : manifest.suites) {
    if (std::any_of(manifest.cases.begin(), manifest.cases.end(),
                    [&](const auto& info) { return named_in(suite, info, manifest, pattern); }))
      suites.push_back(suite);
  }
  if (std::find(suites.begin(), suites.end(), options.suite) != suites.end()) {
    refuse_precisions_of_trainings(manifest, options);
    throw UsageError("'" + pattern + "' names no trial of the precisions that this run has",
                     "ask for its precision with --precision");
  }
  if (!suites.empty()) {
    throw UsageError("'" + pattern + "' is not in suite '" + options.suite + "' but in " + join(suites, ", "),
                     "choose it with --suite " + suites.front());
  }
  for (const auto& info : manifest.cases) {
    if (info.suites.count(options.suite) != 0) names.push_back(info.name);
  }
  throw UsageError(
      "no case is called '" + pattern + "' in suite '" + options.suite + "'",
      suggest(pattern.substr(0, pattern.find('/')), names) + " See: ampgate list --suite " + options.suite);
}

}  // namespace

std::vector<CaseShape> select_shapes(const Manifest& manifest, const Options& options) {
  if (!options.sweep.empty()) return sweep_shapes(manifest, options);
  if (has_own_shapes(options)) return own_shapes(manifest, options);
  if (std::find(manifest.suites.begin(), manifest.suites.end(), options.suite) == manifest.suites.end()) {
    throw UsageError("unknown suite '" + options.suite + "'", suggest(options.suite, manifest.suites));
  }
  std::vector<CaseShape> shapes;
  for (const auto& info : manifest.cases) {
    const auto suite = info.suites.find(options.suite);
    if (suite == info.suites.end()) continue;
    for (const auto& sizes : suite->second) shapes.push_back({&info, sizes, ""});
  }
  return shapes;
}

std::vector<Trial> select_trials(const Manifest& manifest, const std::vector<CaseShape>& shapes,
                                 const Options& options, bool tf32) {
  const auto precisions = wanted_precisions(manifest, options, tf32);
  std::set<std::string> used;
  std::vector<Trial> trials;
  for (const auto& shape : shapes) {
    std::vector<Trial> group;
    for (const auto& precision : precisions) {
      if (!applies(precision, *shape.info)) continue;
      Trial trial = make_trial(*shape.info, shape.sizes, precision);
      if (named(trial, options.cases, used)) group.push_back(std::move(trial));
    }
    if (group.empty()) continue;
    if (group.front().precision != kBaseline)
      group.insert(group.begin(), make_trial(*shape.info, shape.sizes, kBaseline));
    trials.insert(trials.end(), group.begin(), group.end());
  }
  for (const auto& pattern : options.cases) {
    if (used.count(pattern) == 0) refuse_pattern(pattern, manifest, options);
  }
  if (trials.empty()) {
    refuse_precisions_of_trainings(manifest, options);
    throw UsageError("no trial is selected", "see: ampgate list; islands-* are precisions of models alone");
  }
  return trials;
}

results::Json to_json(const Trial& trial) {
  return {{"id", trial.id},     {"case", trial.case_name}, {"shape_name", trial.shape_name},
          {"dims", trial.dims}, {"shape", trial.shape},    {"precision", trial.precision}};
}

Trial trial_from(const results::Json& json) {
  Trial trial;
  trial.id = json.at("id").get<std::string>();
  trial.case_name = json.at("case").get<std::string>();
  trial.shape_name = json.at("shape_name").get<std::string>();
  trial.dims = json.at("dims").get<std::vector<std::string>>();
  trial.shape = json.at("shape").get<std::vector<std::int64_t>>();
  trial.precision = json.at("precision").get<std::string>();
  return trial;
}

results::Json shape_json(const Trial& trial) {
  results::Json dims = results::Json::object();
  for (std::size_t i = 0; i < std::min(trial.dims.size(), trial.shape.size()); ++i)
    dims[trial.dims[i]] = trial.shape[i];
  return {{"name", trial.shape_name}, {"dims", dims}};
}

std::uint32_t order_seed(std::uint64_t seed, int process) {
  // splitmix64 (Steele, Lea, Flood 2014)
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(process) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

}  // namespace ampgate::driver
