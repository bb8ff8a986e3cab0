// States in another order of memory.
#pragma once

#include <optional>

#include "cases/case.h"
#include "cases/layouts.h"

namespace ampgate::validate {

using cases::all_layouts;
using cases::Layout;
using cases::layout_name;

// The floating tensors laid out anew where they have the dimensions for it; none when none has.
std::optional<cases::State> laid_out(const cases::State& state, Layout layout);

}  // namespace ampgate::validate
