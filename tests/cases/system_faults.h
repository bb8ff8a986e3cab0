// Lets the calls with which the calling thread changes files fail, or be watched, one at a time.
#pragma once

#include <functional>

namespace ampgate {

// While it lives, every open for writing, write, fsync, mkdir, rename, unlink and rmdir of this thread first
// asks `fault`: 0 lets the call through, another number is its errno. The calls that `fault` makes are not
// asked about.
class SystemFaults {
 public:
  // `call`: its name. `number`: how many came before.
  using Fault = std::function<int(const char* call, int number)>;

  explicit SystemFaults(Fault fault);
  ~SystemFaults();
  SystemFaults(const SystemFaults&) = delete;
  SystemFaults& operator=(const SystemFaults&) = delete;

  int calls() const { return calls_; }
  int ask(const char* call);

 private:
  Fault fault_;
  int calls_ = 0;
  bool asking_ = false;
};

}  // namespace ampgate
