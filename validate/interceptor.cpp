#include "validate/interceptor.h"

#include <torch/library.h>

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&ampgate::validate::InterceptScope::fallback>());
}
