// Memory on which every access beyond a block is noticed: a block ends (or begins) where pages without access
// begin. An access there is written down, its page is opened with NaN in it, and the program goes on. On
// other pages a fault does what it did before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

namespace ampgate::backends {

// On which side of a block the border is watched to the byte. On the other side, up to a page of NaN lies in
// between, in which writing alone is noticed, and that only at the end.
enum class GuardedSide { kBegin, kEnd };

class NoRoom : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class GuardedMemory {
 public:
  struct Reach {
    std::size_t block;       // its number, in the order of `allocate`
    std::size_t bytes;       // of the block
    bool behind;             // else before its beginning
    std::uint64_t distance;  // in bytes from the block's last (or first) byte: 1 is the next one
    bool write;              // where the processor tells; else false
  };

  // Room for `bytes` of blocks with their guards; only what blocks hold takes memory. Watches from now on.
  // One object at a time. Throws NoRoom when the system gives none.
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // The room that a block of `bytes` takes.
  static std::size_t room_of(std::size_t bytes);

  // A block full of NaN bytes whose address is a multiple of `alignment` (a power of two up to a page). With
  // kEnd less than that lies between its end and the border. Null where there is no room left.
  void* allocate(std::size_t bytes, GuardedSide side, std::size_t alignment = 1);

  // Blocks live as long as this, or as what this gives, but nobody watches them any more.
  std::shared_ptr<const void> keep() const { return room_; }

  // The first access beyond a block so far.
  std::optional<Reach> first_reach() const;

 private:
  struct Room;
  struct Block {
    std::uintptr_t begin, end;              // of its bytes
    std::uintptr_t pages_begin, pages_end;  // that can be accessed
    std::uintptr_t room_begin, room_end;    // with the guards
  };

  static Reach reach_of(const Block& block, std::size_t number, std::uintptr_t address, bool write);
  std::optional<Reach> written_gap() const;

  std::shared_ptr<Room> room_;
  std::uintptr_t next_ = 0;
  std::vector<Block> blocks_;
  mutable std::mutex mutex_;
};

}  // namespace ampgate::backends
