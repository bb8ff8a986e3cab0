// A session on the CPU and cases of a test's own, which are not registered.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "cases/case.h"
#include "validate/session.h"

namespace ampgate::validate {

class CpuSession {
 public:
  CpuSession()
      : backend_(backends::open("cpu")),
        session{*backend_, results::Json::object(), results::Json::object(), {}, "rules", 1} {}

 private:
  std::unique_ptr<backends::Backend> backend_;

 public:
  Session session;
};

// matmul of (m, k) by (k, n), computed by `run`, judged as an inner product.
cases::Case matmul_case(cases::Outputs (*run)(cases::State&));

}  // namespace ampgate::validate
