// What stands in the graphs of a TorchScript module: looking for what a case cannot have, and the same module
// in FP64.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ampgate::cases::files {

// Graphs of all functions and methods of the module's file; what is changed there before the first call is
// what runs.
std::vector<std::shared_ptr<torch::jit::Graph>> graphs_of(const torch::jit::Module& module);

// Every node, those of inner blocks included. `visit` may put nodes around the one it gets.
void for_each_node(torch::jit::Block& block, const std::function<void(torch::jit::Node&)>& visit);

// Why runs of `forward` in this mode cannot be repeated or judged, in words: random numbers, writes to other
// files, threads of their own, attributes that a call changes. Empty: they can.
std::string why_unfit(const torch::jit::Module& module, bool training);

// Does the mode make any difference to the code?
bool reads_mode(const torch::jit::Module& module);

// Operators by which the code asks for the value of a tensor, each once.
std::vector<std::string> value_reads(const torch::jit::Module& module);

// Has constants of floating type that are no single numbers: weights of a frozen module.
bool has_constant_weights(const torch::jit::Module& module);

// Where the code asks whether autocast is on, it is: transformer layers call one fused operator for all that
// they do, but not under autocast.
void avoid_fused_paths(const torch::jit::Module& module);

// Does the code call operators that a library of the user's brought?
bool calls_foreign_operators(const torch::jit::Module& module);

// Types of 16 bit that the code asks for by name.
std::vector<at::ScalarType> low_types_asked_for(const torch::jit::Module& module);

// Constants become FP64, and so do types that the code asks for by name.
void ask_for_fp64(const torch::jit::Module& module);

}  // namespace ampgate::cases::files
