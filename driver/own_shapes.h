// Sizes of the user's own, from --shape and --shapes, for the cases that they are meant for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/manifest.h"
#include "driver/options.h"

namespace ampgate::driver {

// What stands in a plan for the suite when the sizes are the user's.
inline constexpr auto kOwnSuite = "own";

struct CaseShape {
  const CaseInfo* info = nullptr;
  std::vector<std::int64_t> sizes;  // in the order of the case's dims
  std::string from;                 // "--shape 64x64x64", "sizes.csv:3"; empty: a suite's
};

// Sizes of this case: "512x256x64" in the order of its dims, "batch64" where its shapes have that prefix, or
// "m=512,n=256,k=64". Throws std::invalid_argument with what is wrong, without saying where.
std::vector<std::int64_t> parse_shape(const CaseInfo& info, const std::string& text);

// A whole number of at least 1 that 64 bits hold. Throws std::invalid_argument.
std::int64_t parse_size(const std::string& dim, const std::string& text);

// By name. Throws std::invalid_argument, with the nearest names, when this build has no such case.
const CaseInfo& case_named(const Manifest& manifest, const std::string& name);

// The cases that patterns over case, case/shape or trial id may mean, by their first part.
std::vector<const CaseInfo*> cases_meant(const Manifest& manifest, const std::vector<std::string>& patterns);

// Every shape that the options give, each once for a case, by case and then in the order given. Throws
// results::UsageError or, with file and line, results::FileError.
std::vector<CaseShape> own_shapes(const Manifest& manifest, const Options& options);

// [{"case", "shape", "from"}], as in plans and records.
results::Json to_json(const std::vector<CaseShape>& shapes);

}  // namespace ampgate::driver
