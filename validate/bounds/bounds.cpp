#include "validate/bounds.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <stdexcept>

#include "validate/bounds/families.h"

namespace ampgate::validate {
namespace {

using Function = Bound (*)(const BoundContext&, std::size_t);

Function function_of(cases::Family family) {
  using cases::Family;
  switch (family) {
    case Family::kExact:
      return bounds::exact;
    case Family::kInnerProduct:
      return bounds::inner_product;
    case Family::kSum:
      return bounds::sum;
    case Family::kMean:
      return bounds::mean;
    case Family::kCumsum:
      return bounds::cumsum;
    case Family::kLayerNorm:
      return bounds::layer_norm;
    case Family::kRmsNorm:
      return bounds::rms_norm;
    case Family::kGroupNorm:
      return bounds::group_norm;
    case Family::kBatchNormEval:
      return bounds::batch_norm_eval;
    case Family::kSoftmax:
      return bounds::softmax;
    case Family::kLogSoftmax:
      return bounds::log_softmax;
    case Family::kCrossEntropy:
      return bounds::cross_entropy;
    case Family::kGeluErf:
      return bounds::gelu_erf;
    case Family::kGeluTanh:
      return bounds::gelu_tanh;
    case Family::kSilu:
      return bounds::silu;
    case Family::kSigmoid:
      return bounds::sigmoid;
    case Family::kTanh:
      return bounds::tanh;
    case Family::kRelu:
      return bounds::relu;
    case Family::kSqrt:
      return bounds::sqrt;
    case Family::kRsqrt:
      return bounds::rsqrt;
    case Family::kLog:
      return bounds::log;
    case Family::kErf:
      return bounds::erf;
    case Family::kExp:
      return bounds::exp;
    case Family::kAttention:
      return bounds::attention;
    case Family::kIndexAdd:
      return bounds::index_add;
    case Family::kArithmetic:
      return bounds::arithmetic;
    case Family::kUnary:
      return bounds::unary;
    case Family::kActivation:
      return bounds::activation;
    case Family::kLinearMap:
      return bounds::linear_map;
    case Family::kConditioned:
      return bounds::conditioned;
    case Family::kRelative:
      return bounds::relative;
    case Family::kUnknown:
      return bounds::error_ratio;
    case Family::kCall:  // local/call_bound.h knows the operator
    case Family::kModel:
      break;
  }
  return nullptr;
}

}  // namespace

bool has_bound(cases::Family family) {
  return family == cases::Family::kCall || function_of(family) != nullptr;
}

Bound error_bound(const BoundContext& context, std::size_t output) {
  const Function function = function_of(context.spec.family);
  if (function == nullptr) {
    throw std::invalid_argument(context.name + " belongs to no family with an error bound");
  }
  if (output >= context.oracle.size()) throw std::logic_error(context.name + " has no such output");
  const at::NoGradGuard no_grad;
  Bound bound = function(context, output);
  const at::Tensor& oracle = context.oracle[output];
  if (bound.error.sizes() != oracle.sizes()) {
    throw std::logic_error(context.name + ": the error bound has other sizes than the output");
  }
  bound.error = bound.error.contiguous();
  if (bound.hard.defined()) bound.hard = at::maximum(bound.hard, bound.error).contiguous();
  return bound;
}

}  // namespace ampgate::validate
