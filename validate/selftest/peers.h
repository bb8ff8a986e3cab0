// What the tolerances in common use would have said of a faulty result, with the correct kernel's own result
// on the same inputs as the reference: the most favourable one for them.
#pragma once

#include "cases/case.h"

namespace ampgate::validate::selftest {

struct Peers {
  bool torch_testing =
      false;                 // assert_close's defaults by type: rtol/atol 1e-3/1e-5, 1.6e-2/1e-5, 1.3e-6/1e-5
  bool one_percent = false;  // rtol = atol = 1e-2
  bool k_over_100 = false;   // absolute, K the length of the sum (rocBLAS's clients for BF16)

  void add(const Peers& other);
};

// Which of them reject `faulty`. NaN equals NaN for all of them; other sizes or another type are rejected.
Peers rejected_by(const cases::Outputs& faulty, const cases::Outputs& right, std::int64_t length);

// Are they the same bit for bit?
bool identical(const cases::Outputs& a, const cases::Outputs& b);

}  // namespace ampgate::validate::selftest
