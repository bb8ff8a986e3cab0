// What an error bound must know about an operator, as plain data. validate/bounds/<family>.cpp turns it into
// E.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ampgate::cases {

// A family is one formula for E. Bounds find the operands by the names that the case gives its tensors:
enum class Family {
  kExact,          // moves values, no arithmetic: E = 0 (embedding)
  kInnerProduct,   // linear in each of its operands; `reduced` says along which axes they are multiplied and
                   // summed
  kSum,            // "x" summed over `dims`
  kMean,           // "x" averaged over `dims`
  kCumsum,         // prefix sums of "x" along dims[0]
  kLayerNorm,      // "x", "weight", "bias" over the last dims.size() dimensions; eps
  kRmsNorm,        // "x", "weight"; eps
  kGroupNorm,      // "x" (N, C, ...), "weight", "bias"; groups, eps
  kBatchNormEval,  // "x" (N, C, ...), "mean", "variance", "weight", "bias"; eps
  kSoftmax,        // "x" along dims[0]
  kLogSoftmax,     // "x" along dims[0]
  kCrossEntropy,   // "x" (N, C), "target" (N), mean over N
  kGeluErf,        // "x"
  kGeluTanh,       // "x"
  kSilu,           // "x"
  kSigmoid,        // "x"
  kTanh,           // "x"
  kRelu,           // "x"
  kSqrt,           // "x"
  kRsqrt,          // "x"
  kExp,            // "x"
  kLog,            // "x"
  kErf,            // "x"
  kAttention,    // "query", "key", "value" (..., L, D); scale 1/sqrt(D); "mask" (..., L, S), if there is one,
                 // is added to the scores
  kIndexAdd,     // "self", "index", "source" along dims[0]
  kArithmetic,   // add, subtract, multiply, divide: `length` FP32 roundings before the last; "added", if
                 // there is one, is a summand that may cancel
  kUnary,        // a function of one number that kernels know to about one unit in the last place; eps: a
                 // relative error besides
  kActivation,   // one made of several such functions; "x"
  kLinearMap,    // sums of "x" with weights >= 0 of `length` terms (pooling, interpolation)
  kModel,        // no a-priori bound: replay with random rounding
  kCall,         // the only operator that the case calls: by what is known of it, else as the next two
  kConditioned,  // sums of `length` terms of anything, by how its inputs' roundings move the result
  kRelative,     // compiled code that nobody can look into: the RMS error may be `eps` of the output's RMS
  kUnknown,      // error-ratio rule
};

// A function of one element of "x" alone.
constexpr bool is_unary(Family family) {
  return (family >= Family::kGeluErf && family <= Family::kErf) || family == Family::kUnary ||
         family == Family::kActivation;
}

// Dimension `dim` of the State's tensor number `tensor`.
struct Axis {
  std::size_t tensor;
  std::int64_t dim;
};

struct BoundSpec {
  Family family = Family::kUnknown;
  std::int64_t length = 1;           // K or n: how many terms are added up for one output element, at most
  std::vector<std::int64_t> dims{};  // reduced or normalised dimensions of "x"
  std::vector<Axis> reduced{};  // kInnerProduct: the axes that are multiplied and summed, all of one length
  // kInnerProduct: into how many partial sums known FP16 kernels split one output, storing each in FP16 (a
  // transposed convolution that adds up its taps). Their error is allowed as `suspect`, never as a pass.
  std::int64_t fp16_partials = 1;
  std::int64_t groups = 1;
  double eps = 0.0;
};

}  // namespace ampgate::cases
