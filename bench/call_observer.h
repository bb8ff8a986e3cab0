// Hears of the start and end of every operator on this thread, whoever calls it. Never while something is
// timed.
#pragma once

#include <ATen/record_function.h>

namespace ampgate::bench {

// One at a time on a thread.
class CallObserver {
 public:
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;

 protected:
  // `inputs`: the operator's arguments are there when it starts.
  explicit CallObserver(bool inputs);
  virtual ~CallObserver();

 private:
  friend struct Callbacks;
  virtual void enter(const at::RecordFunction& function) = 0;
  virtual void leave() = 0;

  at::CallbackHandle handle_;
};

}  // namespace ampgate::bench
