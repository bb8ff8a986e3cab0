#include "results/roofline.h"

#include <algorithm>

#include "results/rate.h"
#include "results/significant.h"

namespace ampgate::results {
namespace {

double cache_bytes(const Json& ceilings) { return ceilings.value("last_level_cache_bytes", 0.0); }

// Data that fit into the caches need not come from memory.
bool from_memory(const Work& work, const Json& ceilings) {
  return work.flushed || (cache_bytes(ceilings) > 0 && work.bytes > 2 * cache_bytes(ceilings));
}

std::string disturbed_words(const Json& ceiling) {
  return "the ceiling was measured while " + ceiling.at("disturbed").get<std::string>();
}

const Json* matmul_ceiling(const Json& ceilings, const std::string& format) {
  if (!ceilings.is_object() || !ceilings.contains("matmul_tflops")) return nullptr;
  const auto found = ceilings.at("matmul_tflops").find(format);
  return found == ceilings.at("matmul_tflops").end() ? nullptr : &*found;
}

// Of a ceiling that a disturbed machine gave, a share would be too large.
void add_share(Json& rate, const Json& ceiling) {
  if (ceiling.contains("disturbed")) {
    rate["absent"]["share_of_ceiling"] = disturbed_words(ceiling);
  } else {
    rate["share_of_ceiling"] = rate.at("value").get<double>() / ceiling.at("value").get<double>();
  }
}

void add_roof(Json& measurement, const Work& work, const Estimate& time, const Json& ceilings) {
  const Json* const product = matmul_ceiling(ceilings, work.format);
  for (const Json* ceiling : {product, &ceilings.at("copy_gbps")}) {
    if (ceiling == nullptr || !ceiling->contains("disturbed")) continue;
    measurement["absent"]["roofline"] = disturbed_words(*ceiling);
    return;
  }
  const double compute_ns =
      product == nullptr || work.flops <= 0 ? 0 : work.flops / product->at("value").get<double>() * kTera;
  const double copy = ceilings.at("copy_gbps").at("value").get<double>();
  const double memory_ns = work.bytes / copy * kGiga;
  const bool by_compute = compute_ns >= memory_ns;
  Json roof{{"bound_by", by_compute ? "compute" : "memory"},
            {"share", std::max(compute_ns, memory_ns) / time.value},
            {"in_cache", !from_memory(work, ceilings)}};
  if (work.flops > 0) roof["flops_per_byte"] = work.flops / work.bytes;
  measurement["roofline"] = std::move(roof);
}

}  // namespace

void add_roofline(Json& measurement, const Work& work, const Estimate& time, const Json& ceilings) {
  if (work.flops > 0) {
    measurement["tflops"] = rate(time, work.flops, kTera);
    if (const Json* product = matmul_ceiling(ceilings, work.format); product != nullptr)
      add_share(measurement["tflops"], *product);
  } else {
    measurement["absent"]["tflops"] =
        "its operations are none that are counted: products, convolutions, attention";
  }
  if (work.bytes > 0) {
    measurement["gbps"] = rate(time, work.bytes, kGiga);
    if (ceilings.is_object()) add_share(measurement["gbps"], ceilings.at("copy_gbps"));
  } else {
    measurement["absent"]["gbps"] = "the case does not say how many bytes it moves";
  }
  if (ceilings.is_object() && work.bytes > 0) {
    add_roof(measurement, work, time, ceilings);
  } else {
    measurement["absent"]["roofline"] =
        ceilings.is_object() ? "the case does not say how many bytes it moves"
                             : "this run did not measure the device's ceilings (suite smoke does not)";
  }
}

std::string impossible(const Work& work, const Estimate& time, const Json& ceilings) {
  if (!ceilings.is_object()) return "";
  const Json& peak = ceilings.at("peak");
  const std::string cause =
      "; the likely cause: the case declares more work than it does, a call leaves its work out (a result "
      "kept "
      "from before, or lazy), or the clock is wrong";
  // A trial may run part of its operators in FP32.
  const double tflops_peak =
      std::max(peak.at("tflops").value(work.format, 0.0), peak.at("tflops").value("fp32", 0.0));
  const double tflops = work.flops / time.value * kTera;
  if (peak.at("tflops").contains(work.format) && tflops > tflops_peak) {
    return significant(tflops) + " TFLOP/s is above this device's peak of " + significant(tflops_peak) +
           " in " + work.format + " (" + peak.at("source").get<std::string>() + ")" + cause;
  }
  const double gbps = work.bytes / time.value * kGiga;
  if (peak.contains("gbps") && from_memory(work, ceilings) && gbps > peak["gbps"].get<double>()) {
    return significant(gbps) + " GB/s is above the " + significant(peak["gbps"].get<double>()) +
           " of this device's memory, and the data do not fit into its caches" + cause;
  }
  return "";
}

}  // namespace ampgate::results
