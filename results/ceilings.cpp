#include "results/ceilings.h"

#include <vector>

#include "results/rate.h"
#include "results/statistics.h"

namespace ampgate::results {
namespace {

Estimate time_of(const Json& measured, double level) {
  std::vector<Sample> samples;
  int block = 0;
  for (const auto& time : measured.at("times_ns")) samples.push_back({0, block++, time.get<double>()});
  return median_time(samples, level);
}

Json with_count(Json json, const Json& measured) {
  json["samples"] = measured.at("times_ns").size();
  return json;
}

}  // namespace

Json ceilings(const Json& measured, double level) {
  if (!measured.is_object()) return nullptr;
  Json result;
  const Json& memory = measured.at("memory");
  result["last_level_cache_bytes"] = memory.at("last_level_cache_bytes");
  result["buffer_bytes"] = memory.at("buffer_bytes");
  for (const auto* pass : {"read", "write", "copy"}) {
    const Json& one = memory.at(pass);
    Json& entry = result[std::string(pass) + "_gbps"];
    entry = with_count(rate(time_of(one, level), one.at("bytes").get<double>(), kGiga), one);
    if (memory.contains("disturbed")) entry["disturbed"] = memory.at("disturbed");
  }
  for (const auto& [format, one] : measured.at("matmul").items()) {
    if (one.contains("absent")) {
      result["absent"]["matmul_tflops/" + format] = one["absent"];
      continue;
    }
    Json entry = with_count(rate(time_of(one, level), one.at("flops").get<double>(), kTera), one);
    entry["size"] = one.at("size");
    if (one.contains("disturbed")) entry["disturbed"] = one.at("disturbed");
    result["matmul_tflops"][format] = std::move(entry);
  }
  const Json& peaks = measured.at("peaks");
  result["peak"] = {{"source", peaks.at("source")}, {"tflops", Json::object()}};
  for (const auto& [format, flops] : peaks.at("flops_per_s").items())
    result["peak"]["tflops"][format] = flops.get<double>() * 1e-12;
  if (peaks.contains("memory_bytes_per_s")) {
    result["peak"]["gbps"] = peaks["memory_bytes_per_s"].get<double>() * 1e-9;
  } else {
    result["peak"]["absent"]["gbps"] = "the device does not tell the clock of its memory";
  }
  return result;
}

std::string format_of(const std::string& precision, bool not_lowered) {
  if (not_lowered || precision == "fp32") return "fp32";
  if (precision == "tf32") return "tf32";
  return precision.ends_with("fp16") ? "fp16" : "bf16";
}

}  // namespace ampgate::results
