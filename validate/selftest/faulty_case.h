// A case whose operators can be made faulty: a copy of its definition that runs the original, with the fault
// of the moment under it. The pipeline that judges it is the one that judges everything else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/selftest/fault_scope.h"
#include "validate/selftest/faults.h"
#include "validate/selftest/peers.h"

namespace ampgate::validate::selftest {

// One operator call into which a fault of a whole result can be put.
struct Target {
  std::string name;  // as Call::name
  c10::ScalarType type;
};

// What became of a fault in the runs of one trial.
struct Trace {
  std::int64_t runs = 0;  // of the case, in the fault's precision
  bool put_in = false;    // the fault existed in some call
  bool effect = false;    // the outputs differed in some run from those without it
  Peers peers;            // who rejected the outputs of some run
  std::string broken;     // the faulty kernel threw: an error of the self-test
};

// The fault that this thread's faulty cases have while the object lives, in runs of `precision` alone: never
// in the FP64 oracle or in another precision.
class ActiveFault {
 public:
  // `operators`: names, or "*". `only`: which call that fits is hit, from 0; negative: all.
  ActiveFault(const Fault& fault, std::string_view operators, std::int64_t only,
              const precision::Precision& precision, std::int64_t length, std::uint64_t seed);
  ~ActiveFault();
  ActiveFault(const ActiveFault&) = delete;
  ActiveFault& operator=(const ActiveFault&) = delete;

  const Trace& trace() const { return trace_; }

 private:
  friend class FaultyRun;
  const Fault& fault_;
  std::string_view operators_;
  std::int64_t only_;
  const precision::Precision& precision_;
  std::int64_t length_;
  std::uint64_t seed_;
  Trace trace_;
};

// The copy; `original` outlives it, and one original at a time is used on a thread.
cases::Case faulty_copy(const cases::Case& original);

// The calls of a run of `original` on `prepared` that faults fit, in order.
std::vector<Target> targets(const cases::Case& original, cases::State prepared,
                            const precision::Precision& precision, c10::DeviceType device);

}  // namespace ampgate::validate::selftest
