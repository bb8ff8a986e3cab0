#include "bench/ceilings.h"

#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "bench/beyond_caches.h"
#include "bench/conditions.h"
#include "bench/error_text.h"
#include "bench/numerics.h"

namespace ampgate::bench {
namespace {

using results::Json;

constexpr int kRuns = 9;
constexpr int kTries = 3;
constexpr int kFewestRuns = 6;  // as many as an interval needs
constexpr std::chrono::milliseconds kEnoughTime{250};
constexpr std::int64_t kSmallestBuffer = std::int64_t{64} << 20;
// Products grow until one lasts this long: no larger one would be faster by much.
constexpr std::int64_t kLongProduct = 5'000'000;
constexpr std::array<std::int64_t, 9> kSizes{32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
// One run is as many products as last this long: shorter ones would time the clock.
constexpr std::int64_t kShortestRun = 1'000'000;

template <typename Work>
std::int64_t time_of(const Work& work, backends::Backend& backend, backends::Timer& timer) {
  backend.synchronize();
  timer.start();
  work();
  timer.stop();
  return timer.elapsed_ns();
}

// Read, write and copy in turn, so that a disturbance does not fall on one alone.
Json memory_ceilings(backends::Backend& backend, backends::Timer& timer) {
  const std::int64_t cache = backend.last_level_cache_bytes();
  // A pass over twice the cache finds nothing of the one before.
  const std::int64_t wanted = std::max(kSmallestBuffer, bytes_beyond_caches(backend));
  const std::int64_t bytes = std::min(wanted, backend.identity().memory_bytes / 4);
  const auto passes = backend.memory_passes(bytes);
  std::array<std::vector<std::int64_t>, 3> times;
  const auto begin = std::chrono::steady_clock::now();
  for (int run = 0; run <= kRuns; ++run) {
    if (run > kFewestRuns && std::chrono::steady_clock::now() - begin > kEnoughTime) break;
    const std::array<std::int64_t, 3> now{time_of([&] { passes->read(); }, backend, timer),
                                          time_of([&] { passes->write(); }, backend, timer),
                                          time_of([&] { passes->copy(); }, backend, timer)};
    if (run == 0) continue;  // the first one wakes threads and clocks
    for (std::size_t kind = 0; kind < now.size(); ++kind) times[kind].push_back(now[kind]);
  }
  Json json{{"last_level_cache_bytes", cache}, {"buffer_bytes", bytes}};
  constexpr std::array<const char*, 3> kNames{"read", "write", "copy"};
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    json[kNames[kind]] = {{"bytes", bytes}, {"times_ns", times[kind]}};
  }
  return json;
}

struct Format {
  const char* name;
  c10::ScalarType type;
  bool tf32;
};

Json matmul_ceiling(const Format& format, backends::Backend& backend, backends::Timer& timer) {
  if (const std::string reason = backend.unsupported(format.type, format.tf32); !reason.empty())
    return {{"absent", reason}};
  const backends::NumericsScope numerics(/*baseline=*/!format.tf32 && format.type == c10::kFloat,
                                         format.tf32);
  Json best;
  double best_rate = 0;
  for (const std::int64_t size : kSizes) {
    const auto options = at::TensorOptions(backend.device()).dtype(format.type);
    const at::Tensor a = at::full({size, size}, 0.5, options);
    const at::Tensor b = at::full({size, size}, 0.25, options);
    // Some kernels are several times faster with one operand stored transposed.
    bool transposed = false;
    const auto product = [&] { at::mm(a, transposed ? b.t() : b); };
    std::int64_t first = 0;
    for (const bool order : {true, false}) {
      transposed = order;
      time_of(product, backend, timer);  // primitives, workspaces, pages
      const std::int64_t time = std::max<std::int64_t>(time_of(product, backend, timer), 1);
      if (order || time < first) {
        first = time;
      } else {
        transposed = true;
      }
    }
    const std::int64_t products = std::max<std::int64_t>(1, kShortestRun / first);
    const int runs = first > kLongProduct ? kFewestRuns : kRuns;
    std::vector<std::int64_t> times;
    for (int run = 0; run < runs; ++run) {
      times.push_back(time_of(
          [&] {
            for (std::int64_t i = 0; i < products; ++i) product();
          },
          backend, timer));
    }
    auto sorted = times;
    std::sort(sorted.begin(), sorted.end());
    const auto edge = static_cast<double>(size);
    const double flops = 2.0 * edge * edge * edge * static_cast<double>(products);
    const double rate = flops / static_cast<double>(std::max<std::int64_t>(sorted[sorted.size() / 2], 1));
    if (rate > best_rate) {
      best_rate = rate;
      best = {{"size", size}, {"flops", flops}, {"times_ns", times}};
    }
    if (first > kLongProduct) break;
  }
  return best;
}

// What `measure` says in a moment when nothing disturbed it; after a few tries what it said last, with
// "disturbed", the reason.
template <typename Measure>
Json undisturbed(DisturbanceWatch& watch, const Measure& measure) {
  for (int tries = 1;; ++tries) {
    watch.begin();
    Json json = measure();
    const std::string reason = watch.end();
    if (reason.empty() || json.contains("absent")) return json;
    if (tries < kTries) continue;
    json["disturbed"] = reason;
    return json;
  }
}

}  // namespace

Json measure_ceilings(backends::Backend& backend) {
  const auto timer = backend.timer();
  DisturbanceWatch watch(backend);
  Json json;
  json["memory"] = undisturbed(watch, [&] { return memory_ceilings(backend, *timer); });
  constexpr std::array<Format, 4> kFormats{{{"fp32", c10::kFloat, false},
                                            {"tf32", c10::kFloat, true},
                                            {"fp16", c10::kHalf, false},
                                            {"bf16", c10::kBFloat16, false}}};
  for (const auto& format : kFormats) {
    try {
      json["matmul"][format.name] =
          undisturbed(watch, [&] { return matmul_ceiling(format, backend, *timer); });
    } catch (const std::exception& error) {
      json["matmul"][format.name] = {{"absent", error_text(error)}};
    }
  }
  const backends::Peaks peaks = backend.peaks();
  json["peaks"] = {{"flops_per_s", peaks.flops_per_s}, {"source", peaks.source}};
  if (peaks.memory_bytes_per_s) json["peaks"]["memory_bytes_per_s"] = *peaks.memory_bytes_per_s;
  return json;
}

}  // namespace ampgate::bench
