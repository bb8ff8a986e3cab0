#include "results/rate.h"

namespace ampgate::results {

Json rate(const Estimate& time, double work, double per_ns) {
  Json json{{"value", work / time.value * per_ns}};
  if (time.interval)
    json["interval"] = {work / time.interval->high * per_ns, work / time.interval->low * per_ns};
  return json;
}

}  // namespace ampgate::results
