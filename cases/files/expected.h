// Outputs that a case file gives in full: the oracle of what LibTorch cannot compute in FP64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/files/document.h"

namespace ampgate::cases::files {

// {"out": {"values": ...}} or {"out": {"file", "tensor"}}, one for each output. `inputs` makes the tensors
// that the values belong to, `run` says which outputs are integers. `like`: tensors of the outputs' sizes, or
// none where they are not known. Throws results::FileError.
std::function<Outputs(const State&)> read_expected(const Node& node, const Document& document,
                                                   const std::vector<std::string>& outputs,
                                                   const Outputs& like, std::function<State()> inputs,
                                                   std::function<Outputs(State&)> run);

}  // namespace ampgate::cases::files
