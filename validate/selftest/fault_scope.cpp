#include "validate/selftest/fault_scope.h"

#include <torch/library.h>

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) {
  library.fallback(
      torch::CppFunction::makeFromBoxedFunction<&ampgate::validate::selftest::FaultScope::fallback>());
}
