// The same logical values of a tensor in another order of memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

namespace ampgate::cases {

enum class Layout {
  kChannelsLast,  // tensors of four dimensions
  kTransposed,    // the last two dimensions swapped in memory
  kStrided,       // every second element of a row; between them lie NaN, or zeros where the type has none
};

std::string_view layout_name(Layout layout);
const std::vector<Layout>& all_layouts();

// Has the tensor the dimensions for it?
bool can_lie(const at::Tensor& tensor, Layout layout);

// A new tensor with these values, or a view of one.
at::Tensor laid_out(const at::Tensor& tensor, Layout layout);

}  // namespace ampgate::cases
