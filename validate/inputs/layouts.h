// The same logical values in another order of memory.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

enum class Layout {
  kChannelsLast,  // tensors of four dimensions
  kTransposed,    // the last two dimensions swapped in memory
  kStrided,       // every second element of a row; between them lie NaN
};

std::string_view layout_name(Layout layout);
const std::vector<Layout>& all_layouts();

// The floating tensors laid out anew where they have the dimensions for it; none when none has.
std::optional<cases::State> laid_out(const cases::State& state, Layout layout);

}  // namespace ampgate::validate
