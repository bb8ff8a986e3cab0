// A file of shapes: comma-separated values with a header line, `case,shape` or `case,m,n,k`. Without a column
// `case` its lines are for the cases that --case names. Blank lines and lines that begin with # say nothing.
#pragma once

#include <string>
#include <vector>

#include "driver/own_shapes.h"

namespace ampgate::driver {

// `patterns`: those of --case. Throws results::FileError with file and line.
std::vector<CaseShape> read_shapes_file(const std::string& path, const Manifest& manifest,
                                        const std::vector<std::string>& patterns);

}  // namespace ampgate::driver
