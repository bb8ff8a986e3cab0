#include "backends/process_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "backends/settings.h"

namespace ampgate::backends {
namespace {

MallocSettings& applied_malloc() {
  static MallocSettings applied;
  return applied;
}

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("settings: " + what); }

// Threads that are started later inherit it; so this comes before the first parallel work.
void apply_affinity(const std::vector<int>& cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) fail("there is no CPU " + std::to_string(cpu));
    CPU_SET(static_cast<std::size_t>(cpu), &wanted);
  }
  if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
    fail(std::string("affinity cannot be set (") + std::strerror(errno) +
         "); use CPUs that this process may run on");
  }
  cpu_set_t got;
  CPU_ZERO(&got);
  // The kernel silently leaves out CPUs that are not there.
  if (sched_getaffinity(0, sizeof got, &got) != 0 || !CPU_EQUAL(&wanted, &got)) {
    fail("the kernel took only some of the CPUs of the affinity; use CPUs that are there and allowed");
  }
}

void set_malloc(int parameter, const char* name, std::int64_t bytes) {
  // mallopt takes an int.
  if (bytes < 0 || bytes > std::numeric_limits<int>::max() ||
      mallopt(parameter, static_cast<int>(bytes)) != 1) {
    fail(std::string(name) + " of " + std::to_string(bytes) +
         " bytes is not taken by this C library; use 0 to 2147483647" +
         " (before glibc 2.35 at most 33554432 for the mmap threshold)");
  }
}

// Blocks of more than this are not asked for only to see where they come from.
constexpr std::int64_t kLargestProbe = std::int64_t{64} << 20;

// Does malloc map a block of this size by itself? Absent: there is no such block.
std::optional<bool> is_mapped(std::int64_t bytes) {
  const std::size_t mapped_before = mallinfo2().hblks;
  const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(static_cast<std::size_t>(bytes)),
                                                          &std::free);
  if (block == nullptr) return std::nullopt;
  return mallinfo2().hblks != mapped_before;
}

// Since glibc has no way to read the threshold back, a block below it is asked for: it must not be mapped by
// itself.
bool maps_below(std::int64_t threshold) {
  return is_mapped(std::min(threshold / 2, kLargestProbe)).value_or(true);
}

void verify_mmap_threshold(std::int64_t bytes) {
  if (maps_below(bytes)) {
    fail(
        "the mmap threshold has no effect: this process does not use glibc's malloc, or GLIBC_TUNABLES "
        "overrides it");
  }
}

void turn_huge_pages_off() {
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
    fail(std::string("transparent huge pages cannot be turned off (") + std::strerror(errno) + ")");
}

void apply_threads(int threads) {
  if (threads < 1) fail("at least 1 thread is needed, " + std::to_string(threads) + " asked for");
  at::set_num_threads(threads);
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  const int running = threads_that_run();
  if (at::get_num_threads() != threads || running != threads) {
    fail(std::to_string(threads) + " threads asked for, " + std::to_string(running) +
         " run; check OMP_THREAD_LIMIT, OMP_DYNAMIC and MKL_NUM_THREADS");
  }
}

}  // namespace

const MallocSettings& malloc_settings() { return applied_malloc(); }

bool mmap_threshold_in_force() {
  const auto threshold = malloc_settings().mmap_threshold_bytes;
  if (!threshold) return true;
  return !maps_below(*threshold) && (*threshold > kLargestProbe || is_mapped(2 * *threshold).value_or(true));
}

int threads_that_run() {
  const std::int64_t threads = at::get_num_threads();
  std::mutex mutex;
  std::set<std::thread::id> seen;
  at::parallel_for(0, threads, 1, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return static_cast<int>(seen.size());
}

void apply(const ProcessSettings& settings) {
  // What was compiled with -ffast-math switches the processor to flushing subnormals when it is loaded;
  // threads that are started later inherit it from this one.
  at::globalContext().setFlushDenormal(false);
  if (!settings.affinity.empty()) apply_affinity(settings.affinity);
  if (settings.mmap_threshold_bytes) {
    set_malloc(M_MMAP_THRESHOLD, "mmap_threshold_bytes", *settings.mmap_threshold_bytes);
    verify_mmap_threshold(*settings.mmap_threshold_bytes);
  }
  if (settings.trim_threshold_bytes) {
    set_malloc(M_TRIM_THRESHOLD, "trim_threshold_bytes", *settings.trim_threshold_bytes);
  }
  if (!settings.huge_pages) turn_huge_pages_off();
  applied_malloc() = {settings.mmap_threshold_bytes, settings.trim_threshold_bytes};
  apply_threads(settings.threads);
}

}  // namespace ampgate::backends
