// A kernel for an operator of LibTorch's own.
#include <torch/library.h>

static at::Tensor gelu(const at::Tensor& x, c10::string_view) { return x; }

TORCH_LIBRARY_IMPL(aten, CPU, library) { library.impl("gelu", gelu); }
