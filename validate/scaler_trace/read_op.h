// Reads one operation of a sequence file.
#pragma once

#include <vector>

#include "results/node.h"
#include "validate/scaler_trace/gradient.h"
#include "validate/scaler_trace/sequence.h"

namespace ampgate::validate::scaler_trace {

using results::Node;

// `parameters` is [optimizer][parameter]; `saved` says whether a `save` came before.
Op read_op(const Node& node, const std::vector<std::vector<Parameter>>& parameters, bool saved);

}  // namespace ampgate::validate::scaler_trace
