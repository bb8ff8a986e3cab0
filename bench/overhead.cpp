#include "bench/overhead.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "bench/empty_operator.h"
#include "bench/inference_body.h"

namespace ampgate::bench {
namespace {

constexpr int kSamples = 3;  // in each process
constexpr std::int64_t kCalls = 64;

// On the host, per call.
double host_ns(Body& body, std::int64_t calls, backends::Timer& timer) {
  time_calls(body, calls, timer, {});
  return static_cast<double>(timer.host_ns()) / static_cast<double>(calls);
}

}  // namespace

Overhead measure_overhead(Body& body, std::int64_t calls, backends::Timer& timer) {
  Overhead overhead;
  cases::State anything{{{"x", at::zeros({1}, at::device(body.device()))}}};
  InferenceBody one(empty_case(), anything, body.precision(), body.device());
  InferenceBody many(many_empty_case(), anything, body.precision(), body.device());
  run_calls(one, kCalls);
  run_calls(many, kCalls);
  for (int i = 0; i < kSamples; ++i) {
    const double call_ns = host_ns(one, kCalls, timer);
    const double many_ns = host_ns(many, kCalls, timer);
    overhead.call_ns.push_back(call_ns);
    overhead.dispatch_ns.push_back(std::max(0.0, (many_ns - call_ns) / (kManyOperators - 1)));
  }
  if (body.device() == c10::kCPU) return overhead;
  for (int i = 0; i < kSamples; ++i) {
    body.prepare(calls);
    const double time_ns = static_cast<double>(time_calls(body, calls, timer, {}).time_ns);
    overhead.device_ns.push_back(time_ns / static_cast<double>(calls));
    overhead.host_ns.push_back(static_cast<double>(timer.host_ns()) / static_cast<double>(calls));
  }
  return overhead;
}

results::Json to_json(const Overhead& overhead) {
  results::Json json{{"call_ns", overhead.call_ns}, {"dispatch_ns", overhead.dispatch_ns}};
  if (!overhead.host_ns.empty()) {
    json["host_ns"] = overhead.host_ns;
    json["device_ns"] = overhead.device_ns;
  }
  return json;
}

}  // namespace ampgate::bench
