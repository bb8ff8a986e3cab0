#include <ATen/Parallel.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backends/cpu.h"

namespace ampgate::backends {
namespace {

// Mapped by itself, so that it neither takes part in the heap's history nor leaves a trace in it.
class Pages {
 public:
  explicit Pages(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* const begin = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
      throw DeviceError("cpu: no memory for a buffer of " + std::to_string(bytes) + " bytes (" +
                        std::strerror(errno) + "); end other programs");
    }
    begin_ = static_cast<unsigned char*>(begin);
  }
  ~Pages() { munmap(begin_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  unsigned char* begin() const { return begin_; }

 private:
  std::size_t bytes_;
  unsigned char* begin_ = nullptr;
};

// The sum keeps the compiler from leaving the reads out.
std::uint64_t sum_of(const unsigned char* begin, std::int64_t bytes) {
  constexpr std::int64_t kStep = 64;  // a cache line: one word of each is enough to have it read
  std::uint64_t sums[4] = {};
  for (std::int64_t i = 0; i + 4 * kStep <= bytes; i += 4 * kStep) {
    for (std::int64_t line = 0; line < 4; ++line) {
      std::uint64_t word = 0;
      std::memcpy(&word, begin + i + line * kStep, sizeof word);
      sums[line] += word;
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

class CpuMemoryPasses final : public MemoryPasses {
 public:
  explicit CpuMemoryPasses(std::int64_t bytes) : bytes_(bytes), pages_(bytes) {
    write();  // makes the pages, each near the thread that will use it
  }

  void read() override {
    in_parts(bytes_, [this](std::int64_t begin, std::int64_t end) {
      const volatile std::uint64_t sum = sum_of(pages_.begin() + begin, end - begin);
      static_cast<void>(sum);
    });
  }

  void write() override {
    in_parts(bytes_, [this](std::int64_t begin, std::int64_t end) {
      std::memset(pages_.begin() + begin, 1, static_cast<std::size_t>(end - begin));
    });
  }

  void copy() override {
    const std::int64_t half = bytes_ / 2;
    in_parts(half, [this, half](std::int64_t begin, std::int64_t end) {
      std::memcpy(pages_.begin() + half + begin, pages_.begin() + begin,
                  static_cast<std::size_t>(end - begin));
    });
  }

 private:
  template <typename Work>
  static void in_parts(std::int64_t bytes, const Work& work) {
    at::parallel_for(0, bytes, std::int64_t{1} << 16, work);
  }

  std::int64_t bytes_;
  Pages pages_;
};

}  // namespace

std::unique_ptr<MemoryPasses> cpu_memory_passes(std::int64_t bytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return std::make_unique<CpuMemoryPasses>((bytes + 2 * page - 1) / (2 * page) * (2 * page));
}

}  // namespace ampgate::backends
