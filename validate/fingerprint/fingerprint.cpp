#include "validate/fingerprint/fingerprint.h"

#include <string>
#include <vector>

#include "backends/settings.h"
#include "results/sha256.h"
#include "validate/failure.h"
#include "validate/fingerprint/probe.h"

namespace ampgate::validate::fingerprint {
namespace {

using results::Json;

std::string unsupported(const Probe& probe, const backends::Backend& backend) {
  const bool tf32 = probe.name.ends_with("-tf32");
  for (const auto type : probe.types) {
    if (auto reason = backend.unsupported(type, tf32); !reason.empty()) return reason;
  }
  return "";
}

Json run(const Probe& probe, backends::Backend& backend) {
  Json entry{{"name", probe.name}, {"asks", probe.asks}};
  std::string reason = unsupported(probe, backend);
  if (reason.empty()) {
    const auto failure = catch_failure([&] {
      const backends::NumericsScope numerics(/*baseline=*/false, /*tf32=*/false);
      Finding found = probe.run(backend.device());
      backend.synchronize();
      entry["raw"] = std::move(found.raw);
      entry["words"] = std::move(found.words);
    });
    if (!failure) return entry;
    reason = failure->reason;
  }
  entry["absent"] = {{"raw", reason}};
  return entry;
}

}  // namespace

Json take(backends::Backend& backend) {
  Json probes = Json::array();
  Json digested = Json::object();
  for (const auto& group : {product_probes(), conversion_probes(), function_probes(), order_probes()}) {
    for (const Probe& probe : group) {
      probes.push_back(run(probe, backend));
      digested[probe.name] = probes.back().value("raw", Json());
    }
  }
  return {{"digest", results::sha256_hex(results::to_text(digested))}, {"probes", std::move(probes)}};
}

}  // namespace ampgate::validate::fingerprint
