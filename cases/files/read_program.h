// The operators of a case file as a program, with the tensors that they work on.
#pragma once

#include <string>
#include <vector>

#include "cases/files/document.h"
#include "cases/files/names.h"
#include "cases/files/program.h"
#include "cases/fills.h"

namespace ampgate::cases::files {

struct ReadProgram {
  std::vector<Names::Tensor> tensors;
  Program program;
  std::vector<std::string> outputs;  // names

  // The tensors, filled.
  State state(const Fill& fill) const;
};

// Throws results::FileError for what does not fit the operators' schemas, and for operators whose results
// cannot be judged: random ones, and those that write to the case's own tensors or return no tensors.
ReadProgram read_program(const Document& document);

// Throws results::FileError where an operator refuses the sizes or types that it is given. What operators do
// not say of tensors without values stays unknown.
void check_fits(const ReadProgram& built, const Document& document);

// The program that `node` ({"operators", "outputs"}) gives for the oracle of `judged`: the same outputs from
// the same tensors, by other operators. Throws as above.
Program read_reference(const Node& node, const Document& document, const ReadProgram& judged);

}  // namespace ampgate::cases::files
