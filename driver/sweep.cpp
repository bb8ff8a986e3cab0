#include "driver/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "driver/names.h"
#include "driver/shape_check.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::Json;
using results::UsageError;

constexpr int kMostSizes = 64;
constexpr auto kForm =
    "write --sweep DIM=LOW:HIGH or DIM=LOW:HIGH:FACTOR, as m=64:4096, m,n,k=64:1024:1.5, all=64:1024";

struct Sweep {
  std::vector<std::string> dims;  // all: every one of the case
  std::int64_t low = 0;
  std::int64_t high = 0;
  double factor = 2.0;
};

[[noreturn]] void refuse(const Options& options, const std::string& what) {
  throw UsageError("--sweep " + options.sweep + ": " + what, kForm);
}

Sweep parse(const Options& options) {
  const std::string& text = options.sweep;
  const auto equals = text.find('=');
  if (equals == std::string::npos) refuse(options, "no '='");
  Sweep sweep;
  const std::string names = text.substr(0, equals);
  sweep.dims = split(names, ',');
  if (sweep.dims.empty()) refuse(options, "it names no size");
  if (std::ssize(sweep.dims) != std::count(names.begin(), names.end(), ',') + 1)
    refuse(options, "one of the names is empty");
  for (auto dim = sweep.dims.begin(); dim != sweep.dims.end(); ++dim) {
    if (std::find(sweep.dims.begin(), dim, *dim) != dim) refuse(options, "it names '" + *dim + "' twice");
  }
  std::vector<std::string> ends = split(text.substr(equals + 1), ':');
  if (ends.size() < 2 || ends.size() > 3) refuse(options, "a range has a lower and an upper end");
  try {
    sweep.low = parse_size("the lower end", ends[0]);
    sweep.high = parse_size("the upper end", ends[1]);
  } catch (const std::invalid_argument& error) {
    refuse(options, error.what());
  }
  if (ends.size() == 3) {
    const auto read = std::from_chars(ends[2].data(), ends[2].data() + ends[2].size(), sweep.factor);
    if (read.ec != std::errc() || read.ptr != ends[2].data() + ends[2].size() ||
        !(sweep.factor > 1.0 && std::isfinite(sweep.factor)))
      refuse(options, "the factor '" + ends[2] + "' is no number above 1");
  }
  if (sweep.high <= sweep.low) refuse(options, "the upper end must be above the lower");
  return sweep;
}

// The next size of a geometric series; at least one more.
std::int64_t next(const Sweep& sweep, std::int64_t size) {
  const double larger = std::round(static_cast<double>(size) * sweep.factor);
  if (larger > 1e18) return 0;
  return std::max(size + 1, static_cast<std::int64_t>(larger));
}

std::vector<std::int64_t> sizes_of(const Sweep& sweep, const Options& options) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = sweep.low; size != 0 && size < sweep.high; size = next(sweep, size)) {
    sizes.push_back(size);
    if (sizes.size() >= kMostSizes) refuse(options, fmt::format("more than {} sizes", kMostSizes));
  }
  sizes.push_back(sweep.high);
  return sizes;
}

// Places in the case's order of the sizes that are swept.
std::vector<std::size_t> swept(const CaseInfo& info, const Sweep& sweep, const Options& options) {
  std::vector<std::size_t> places;
  for (const auto& dim : sweep.dims) {
    for (std::size_t i = 0; i < info.dims.size(); ++i) {
      if (dim == "all" || dim == info.dims[i]) places.push_back(i);
    }
    if (dim != "all" && std::find(info.dims.begin(), info.dims.end(), dim) == info.dims.end())
      refuse(options, fmt::format("case {} has no size '{}' but {}", info.name, dim, join(info.dims, ", ")));
  }
  return places;
}

std::vector<std::int64_t> base_of(const CaseInfo& info, const Options& options) {
  if (!options.shapes.empty()) {
    try {
      return parse_shape(info, options.shapes.front());
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("--shape {}: {}", options.shapes.front(), error.what()),
                       "with --sweep it gives the sizes that stay as they are");
    }
  }
  const auto standard = info.suites.find("standard");
  const auto& suite = standard != info.suites.end() ? *standard : *info.suites.begin();
  return suite.second.front();
}

// Does the product of the sizes fit into 64 bits with room to spare?
bool is_countable(const std::vector<std::int64_t>& sizes) {
  double product = 1.0;
  for (const auto size : sizes) product *= static_cast<double>(size);
  return product < 0x1p62;
}

// Sizes above the range, for predictions; a case with nothing above has none.
std::vector<CaseShape> beyond(const std::vector<CaseShape>& shapes, const Sweep& sweep,
                              const Options& options) {
  std::vector<CaseShape> more;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i + 1 < shapes.size() && shapes[i + 1].info == shapes[i].info) continue;
    CaseShape shape = shapes[i];
    const auto places = swept(*shape.info, sweep, options);
    for (int step = 0; step < kMostSizes; ++step) {
      const std::int64_t size = next(sweep, shape.sizes[places.front()]);
      for (const auto place : places) shape.sizes[place] = size;
      if (size == 0 || !is_countable(shape.sizes)) break;
      more.push_back(shape);
    }
  }
  return more;
}

Json point_of(const CaseShape& shape, std::int64_t size, const Json& facts) {
  Json point{{"case", shape.info->name}, {"shape", shape.info->shape_name(shape.sizes)}, {"size", size}};
  if (facts.contains("problem")) {
    point["left_out"] = facts.at("problem");
    return point;
  }
  for (const auto& [precision, bytes] : facts.at("precisions").items()) {
    point["tensor_bytes"][precision] = bytes.at("tensor_bytes");
    point["output_bytes"][precision] = bytes.value("output_bytes", 0.0);
  }
  return point;
}

double least_bytes(const Json& point) {
  double least = -1;
  if (!point.contains("tensor_bytes")) return least;
  for (const auto& [precision, bytes] : point.at("tensor_bytes").items()) {
    const double needed = bytes.get<double>() + point.at("output_bytes").at(precision).get<double>();
    least = least < 0 ? needed : std::min(least, needed);
  }
  return least;
}

}  // namespace

std::vector<CaseShape> sweep_shapes(const Manifest& manifest, const Options& options) {
  const Sweep sweep = parse(options);
  if (options.cases.empty())
    throw UsageError("--sweep " + options.sweep + ": of which case?", "name it with --case");
  if (options.shapes.size() > 1)
    throw UsageError("--sweep takes one --shape, for the sizes that stay as they are",
                     "leave the others out");
  std::vector<CaseShape> shapes;
  for (const auto* info : cases_meant(manifest, options.cases)) {
    CaseShape shape{info, base_of(*info, options), "--sweep " + options.sweep};
    for (const auto size : sizes_of(sweep, options)) {
      for (const auto place : swept(*info, sweep, options)) shape.sizes[place] = size;
      if (!is_countable(shape.sizes))
        refuse(options,
               fmt::format("{}/{} is beyond what can be counted", info->name, info->shape_name(shape.sizes)));
      shapes.push_back(shape);
    }
  }
  return shapes;
}

Json plan_sweep(const Options& options, const WorkerFolder& folder, const std::string& device,
                std::vector<CaseShape>& shapes) {
  const Sweep sweep = parse(options);
  const Memory available = memory_for(device, folder);
  const double here = device == "cpu" ? available.host_bytes : available.device_bytes;
  Json plan{{"dims", sweep.dims},
            {"low", sweep.low},
            {"high", sweep.high},
            {"factor", sweep.factor},
            {"available_bytes", results::number(here)},
            {"points", Json::array()}};
  std::vector<CaseShape> asked = shapes;
  const auto more = beyond(shapes, sweep, options);
  asked.insert(asked.end(), more.begin(), more.end());
  const auto facts = ask_facts(folder, asked);
  std::vector<CaseShape> kept;
  std::vector<const CaseInfo*> full;  // cases whose sizes no longer fit
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& shape = asked[i];
    Json point = point_of(shape, shape.sizes[swept(*shape.info, sweep, options).front()], facts[i]);
    if (i < shapes.size()) {
      if (!point.contains("left_out")) {
        if (auto problem = too_large(least_memory(facts[i]), available, device); !problem.empty())
          point["left_out"] = std::move(problem);
      }
      if (!point.contains("left_out")) kept.push_back(shape);
    } else if (point.contains("left_out") || std::find(full.begin(), full.end(), shape.info) != full.end()) {
      continue;
    }
    if (least_bytes(point) > here) full.push_back(shape.info);
    plan["points"].push_back(std::move(point));
  }
  if (kept.size() < 2) {
    const Json& last = plan["points"].back();
    refuse(options, "fewer than two sizes can be run: " + last.value("left_out", "see --case"));
  }
  shapes = std::move(kept);
  return plan;
}

}  // namespace ampgate::driver
