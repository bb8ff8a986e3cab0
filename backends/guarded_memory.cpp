#include "backends/guarded_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "backends/poison_allocator.h"

namespace ampgate::backends {
namespace {

constexpr std::size_t kLeastGuard = 1 << 20;

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

// A kernel that takes one row or tile too many is off by a part of the block.
std::size_t guard_of(std::size_t bytes) { return std::max(kLeastGuard, whole_pages(bytes)); }

void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

bool open_pages(std::uintptr_t begin, std::size_t bytes) {
  if (::mprotect(pointer_to(begin), bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::fill_n(static_cast<std::uint16_t*>(pointer_to(begin)), bytes / sizeof(std::uint16_t), kPoison);
  return true;
}

// Of poison that was written from an even address on.
bool is_poison(std::uintptr_t address) {
  const std::uint16_t byte = address % 2 == 0 ? kPoison & 0xFF : kPoison >> 8;
  return *static_cast<const unsigned char*>(pointer_to(address)) == byte;
}

// What the handler needs: plain numbers, since it runs in the middle of anything.
struct Watch {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<std::uintptr_t> first{0};  // address of the first access
  std::atomic<bool> write{false};
  struct sigaction before {};
  std::size_t page = 0;
};
Watch watch;

bool is_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
#else
  return false;
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool watched = address >= watch.begin && address < watch.end;
  if (!watched || !open_pages(address / watch.page * watch.page, watch.page)) {
    ::sigaction(number, &watch.before, nullptr);  // the access happens again, and now does what it did before
    return;
  }
  std::uintptr_t none = 0;
  if (watch.first.compare_exchange_strong(none, address)) watch.write = is_write(context);
}

}  // namespace

struct GuardedMemory::Room {
  explicit Room(std::size_t bytes) : size(std::max(whole_pages(bytes), page_size())) {
    void* const room =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1,
               /*offset=*/0);
    if (room == MAP_FAILED)
      throw NoRoom("the system gives no room for " + std::to_string(size) + " bytes of addresses");
    begin = reinterpret_cast<std::uintptr_t>(room);
  }
  ~Room() { ::munmap(pointer_to(begin), size); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  std::size_t size;
  std::uintptr_t begin = 0;
};

GuardedMemory::GuardedMemory(std::size_t bytes) : room_(std::make_shared<Room>(bytes)), next_(room_->begin) {
  if (watch.begin != 0) throw std::logic_error("guarded memory is in use already");
  watch.page = page_size();
  watch.first = 0;
  watch.write = false;
  watch.end = room_->begin + room_->size;
  watch.begin = room_->begin;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, &watch.before);
}

GuardedMemory::~GuardedMemory() {
  ::sigaction(SIGSEGV, &watch.before, nullptr);
  watch.begin = watch.end = 0;
}

std::size_t GuardedMemory::room_of(std::size_t bytes) { return whole_pages(bytes) + 2 * guard_of(bytes); }

void* GuardedMemory::allocate(std::size_t bytes, GuardedSide side, std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  const std::size_t pages = whole_pages(bytes);
  const std::size_t left = room_->begin + room_->size - next_;
  if (bytes > left || room_of(bytes) > left) return nullptr;
  const std::uintptr_t first = next_ + guard_of(bytes);
  if (pages > 0 && !open_pages(first, pages)) return nullptr;
  const std::uintptr_t begin =
      side == GuardedSide::kEnd ? (first + pages - bytes) / alignment * alignment : first;
  blocks_.push_back({begin, begin + bytes, first, first + pages, next_, next_ + room_of(bytes)});
  next_ += room_of(bytes);
  return pointer_to(begin);
}

GuardedMemory::Reach GuardedMemory::reach_of(const Block& block, std::size_t number, std::uintptr_t address,
                                             bool write) {
  const bool behind = address >= block.end;
  return {number, block.end - block.begin, behind, behind ? address - block.end + 1 : block.begin - address,
          write};
}

std::optional<GuardedMemory::Reach> GuardedMemory::written_gap() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    for (std::uintptr_t address = block.end; address < block.pages_end; ++address) {
      if (!is_poison(address)) return reach_of(block, i, address, true);
    }
    for (std::uintptr_t address = block.begin; address-- > block.pages_begin;) {
      if (!is_poison(address)) return reach_of(block, i, address, true);
    }
  }
  return {};
}

std::optional<GuardedMemory::Reach> GuardedMemory::first_reach() const {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t address = watch.first;
  if (address == 0) return written_gap();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (address >= blocks_[i].room_begin && address < blocks_[i].room_end)
      return reach_of(blocks_[i], i, address, watch.write);
  }
  return Reach{blocks_.size(), 0, true, 0, watch.write};  // in no block's room: nobody can say beyond which
}

}  // namespace ampgate::backends
