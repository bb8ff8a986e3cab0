// Operators that move, select or convert values: E = 0, the result is RN of a value.
#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

std::optional<LocalProblem> exact(const LocalCall& call) {
  const auto outputs = evaluate_fp64(call.view);
  if (!outputs) return {};
  LocalProblem problem{{.family = cases::Family::kExact}, {}, {}, {}};
  cases::Outputs values;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    if (!call.view.outputs[i].is_floating_point()) continue;
    problem.actual.push_back(call.view.outputs[i]);
    values.push_back((*outputs)[i]);
  }
  problem.evaluate = [values](const cases::State&) { return values; };
  return problem;
}

// Dropout that is switched off passes its input on.
std::optional<LocalProblem> dropout(const LocalCall& call) {
  const auto train = call.find("train");
  if (!train || call.arguments[*train].toBool()) return {};
  LocalProblem problem{{.family = cases::Family::kExact}, {}, {}, {call.view.outputs.at(0)}};
  problem.evaluate = [x = call.tensor(0)](const cases::State&) -> cases::Outputs { return {x}; };
  return problem;
}

}  // namespace

void add_exact(Adapters& adapters) {
  for (const char* name : {"abs",
                           "adaptive_max_pool1d",
                           "adaptive_max_pool2d",
                           "adaptive_max_pool3d",
                           "amax",
                           "amin",
                           "cat",
                           "ceil",
                           "chunk",
                           "clamp",
                           "clamp_max",
                           "clamp_min",
                           "clone",
                           "concat",
                           "constant_pad_nd",
                           "contiguous",
                           "copy",
                           "detach",
                           "diag",
                           "embedding",
                           "expand",
                           "fill",
                           "flatten",
                           "flip",
                           "floor",
                           "fmax",
                           "fmin",
                           "full",
                           "full_like",
                           "gather",
                           "hardtanh",
                           "im2col",
                           "index",
                           "index_copy",
                           "index_fill",
                           "index_select",
                           "masked_fill",
                           "masked_scatter",
                           "masked_select",
                           "max",
                           "max_pool1d",
                           "max_pool2d",
                           "max_pool2d_with_indices",
                           "max_pool3d",
                           "maximum",
                           "median",
                           "min",
                           "minimum",
                           "nan_to_num",
                           "neg",
                           "new_full",
                           "new_ones",
                           "new_zeros",
                           "ones",
                           "ones_like",
                           "pad",
                           "permute",
                           "pixel_shuffle",
                           "pixel_unshuffle",
                           "reflection_pad1d",
                           "reflection_pad2d",
                           "relu",
                           "relu6",
                           "repeat",
                           "repeat_interleave",
                           "replication_pad1d",
                           "replication_pad2d",
                           "reshape",
                           "roll",
                           "round",
                           "scalar_tensor",
                           "select_scatter",
                           "sign",
                           "slice_scatter",
                           "sort",
                           "stack",
                           "t",
                           "take",
                           "take_along_dim",
                           "threshold",
                           "threshold_backward",
                           "tile",
                           "to",
                           "_to_copy",
                           "topk",
                           "transpose",
                           "tril",
                           "triu",
                           "trunc",
                           "type_as",
                           "unfold",
                           "upsample_nearest1d",
                           "upsample_nearest2d",
                           "where",
                           "zero",
                           "zeros",
                           "zeros_like"}) {
    adapters[name] = exact;
  }
  for (const char* name : {"dropout", "feature_dropout", "alpha_dropout"}) adapters[name] = dropout;
}

}  // namespace ampgate::validate::local
