// What an exception inside a trial means for that trial.
#pragma once

#include <c10/util/Exception.h>

#include <functional>
#include <optional>
#include <string>

#include "results/verdict.h"

namespace ampgate::validate {

struct Failure {
  results::Verdict verdict;  // `unsupported` for a kernel that LibTorch does not have, else `crashed`
  std::string reason;
};

// An operator refused what it was given: neither is a kernel missing, nor memory.
bool is_refusal(const c10::Error& error);

// Calls the function; nothing when it returns.
std::optional<Failure> catch_failure(const std::function<void()>& function);

}  // namespace ampgate::validate
