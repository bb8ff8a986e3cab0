// The threads of a case that wants another number of them than its run has.
#pragma once

#include <ATen/Parallel.h>

#include <optional>

namespace ampgate::cases {

// LibTorch's threads, for the life of the object; empty: as they are.
class ThreadsScope {
 public:
  explicit ThreadsScope(const std::optional<int>& threads) : previous_(at::get_num_threads()) {
    if (threads) at::set_num_threads(*threads);
  }
  ~ThreadsScope() {
    if (at::get_num_threads() != previous_) at::set_num_threads(previous_);
  }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int previous_;
};

}  // namespace ampgate::cases
