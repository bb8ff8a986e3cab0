#include "bench/growth.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

namespace ampgate::bench {
namespace {

constexpr std::size_t kStretches = 6;
constexpr std::int64_t kMostCalls = 2000;  // in a stretch
constexpr std::chrono::milliseconds kStretchTime(25);
// glibc's caches of each thread count as in use: up to seven chunks of a size, which the first calls of a
// body fill. With fewer calls in a stretch only more than such caches hold is a leak of malloc.
constexpr std::int64_t kCachedChunks = 7;
constexpr std::int64_t kCachedBytes = std::int64_t{64} << 10;
// A container that keeps what it is given takes memory in jumps, each as large as all before: not the same in
// every stretch, but more in each of some stretches that double.
constexpr std::size_t kDoublings = 3;
constexpr std::chrono::seconds kLongestLook(5);
constexpr std::int64_t kLeastJump = std::int64_t{16} << 10;  // in all stretches, to look further

struct Level {
  std::array<std::int64_t, kStretches> grown{};

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t bytes : grown) sum += bytes;
    return sum;
  }
  // Each stretch made as many calls as the others. What grows by accident, or once, does not do so in each;
  // `grain` is the smallest step that can be seen.
  bool is_leak(std::int64_t grain) const {
    const auto [least, most] = std::minmax_element(grown.begin(), grown.end());
    return *least >= grain && *most <= 2 * *least + 2 * grain;
  }
};

// Bytes that malloc's callers have not given back, in all arenas and mapped blocks.
std::int64_t malloc_bytes() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// As many calls as fit in a stretch.
std::int64_t stretch_calls(Body& body, backends::Backend& backend) {
  body.prepare(1);
  const auto begin = std::chrono::steady_clock::now();
  run_calls(body, 1);
  backend.synchronize();
  const auto call = std::max<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin,
                                                       std::chrono::nanoseconds(1));
  return std::clamp<std::int64_t>(kStretchTime / call, 1, std::min(kMostCalls, body.most_calls()));
}

// Each stretch makes twice as many calls as all before it. A body that becomes slower with each call is not
// followed to the end.
bool grows_by_doubling(Body& body, backends::Backend& backend, std::int64_t calls_in_stretch) {
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t stretches = kStretches;
  std::int64_t grown = 0;
  for (std::size_t doubling = 0; doubling < kDoublings; ++doubling, stretches *= 2) {
    const std::int64_t before = malloc_bytes();
    for (std::int64_t i = 0; i < stretches; ++i) {
      if (std::chrono::steady_clock::now() - begin > kLongestLook) return false;
      body.prepare(calls_in_stretch);
      run_calls(body, calls_in_stretch);
    }
    backend.synchronize();
    const std::int64_t now = malloc_bytes() - before;
    if (now < kLeastJump || 2 * now < 3 * grown) return false;
    grown = now;
  }
  return true;
}

}  // namespace

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Growth measure_growth(Body& body, backends::Backend& backend) {
  const auto meter = backend.memory_meter();
  meter->begin();  // it must know the blocks that the first metered calls give back
  const std::int64_t calls = stretch_calls(body, backend);
  meter->end();
  Level allocator;
  Level in_use;
  Level resident;
  for (std::size_t i = 0; i < kStretches; ++i) {
    body.prepare(calls);
    const std::int64_t in_use_before = malloc_bytes();
    const std::int64_t resident_before = resident_bytes();
    meter->begin();
    run_calls(body, calls);
    backend.synchronize();
    allocator.grown[i] = meter->end().retained_bytes;
    in_use.grown[i] = malloc_bytes() - in_use_before;
    resident.grown[i] = resident_bytes() - resident_before;
  }
  bool in_use_leaks = in_use.is_leak(calls > kCachedChunks ? 1 : kCachedBytes);
  if (!in_use_leaks && in_use.total() >= kLeastJump && calls > kCachedChunks)
    in_use_leaks = grows_by_doubling(body, backend, calls);
  return {.calls = calls * static_cast<std::int64_t>(kStretches),
          .allocator_bytes = allocator.total(),
          .malloc_bytes = in_use.total(),
          .resident_bytes = resident.total(),
          .allocator_leaks = allocator.is_leak(1),
          .malloc_leaks = in_use_leaks,
          .resident_leaks = resident.is_leak(sysconf(_SC_PAGESIZE))};
}

results::Json to_json(const Growth& growth) {
  return {{"calls", growth.calls},
          {"allocator_bytes", growth.allocator_bytes},
          {"malloc_bytes", growth.malloc_bytes},
          {"resident_bytes", growth.resident_bytes}};
}

}  // namespace ampgate::bench
