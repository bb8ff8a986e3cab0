#include "validate/inputs/exact_integers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/formats.h"
#include "validate/inputs/operands.h"
#include "validate/oracle.h"
#include "validate/sample.h"

namespace ampgate::validate {
namespace {

using cases::BoundSpec;
using cases::Family;
using cases::State;

// The other factor of a product: small, so that the first can be large enough to need more bits than TF32
// has.
constexpr std::int64_t kLargestFactor = 7;
// FP32 operands: 12 bits, one more than TF32 keeps.
constexpr std::int64_t kLargestFp32Operand = 4095;

// Positions along each axis on which a case is tried.
constexpr std::int64_t kTried = 8;

class Maker {
 public:
  Maker(const cases::Case& definition, const State& like, const precision::Precision& precision,
        std::uint64_t seed)
      : fill_(seed, definition.name + ":exact", std::string(precision.name)), result_(like) {
    const auto& format = precision::format_of(precision.type);
    limit_ = std::int64_t{1} << format.significand_bits;
    most_ = precision.type != at::kFloat ? limit_ : precision.tf32 ? 2048 : kLargestFp32Operand;
  }

  std::int64_t limit() const { return limit_; }
  const State& state() const { return result_; }
  State take() { return std::move(result_); }

  // Tensor number `tensor` in [-largest, largest] without zero, but with zeros everywhere except at every
  // `stride`-th place along `dim`, counted from a seeded place of each line.
  void put(std::size_t tensor, std::int64_t largest, std::int64_t dim = 0, std::int64_t stride = 1) {
    const at::Tensor& like = result_[tensor];
    const std::string name = result_.tensors[tensor].name;
    largest = std::min(largest, most_);
    at::Tensor values = fill_.integers(name, like.sizes(), 1, largest + 1);
    values.mul_(fill_.integers(name + ":sign", like.sizes(), 0, 2).mul_(2).sub_(1));
    if (stride > 1) {
      std::vector<std::int64_t> line = like.sizes().vec();
      line[static_cast<std::size_t>(dim)] = 1;
      std::vector<std::int64_t> along(line.size(), 1);
      along[static_cast<std::size_t>(dim)] = like.size(dim);
      const at::Tensor place = at::arange(like.size(dim), at::kLong).view(along);
      const at::Tensor start = fill_.integers(name + ":start", line, 0, stride);
      values.masked_fill_((place + start).remainder(stride).ne(0), 0);
    }
    // In the layout that is judged.
    result_.tensors[tensor].tensor = at::empty_like(like, at::kFloat).copy_(values);
  }

  void multiply(std::size_t tensor, const at::Tensor& mask) { result_.tensors[tensor].tensor.mul_(mask); }

 private:
  cases::Fill fill_;
  State result_;
  std::int64_t limit_;
  std::int64_t most_;
};

struct Spacing {
  std::int64_t stride;
  double per_term;  // what each term may be
};

// Every stride-th of `length` places holds `terms` terms, and all of them together stay within the budget;
// stride 0: not even one place does.
Spacing spacing(double budget, std::int64_t length, double terms) {
  const auto affordable = static_cast<std::int64_t>(budget / terms);
  if (affordable < 1) return {0, 0.0};
  const std::int64_t stride = (length + affordable - 1) / affordable;
  const std::int64_t places = (length + stride - 1) / stride;
  return {stride, std::floor(budget / (static_cast<double>(places) * terms))};
}

bool make_inner_product(Maker& maker, const BoundSpec& bound) {
  const auto added = added_tensors(bound, maker.state());
  const std::int64_t length = maker.state()[bound.reduced[0].tensor].size(bound.reduced[0].dim);
  double budget = static_cast<double>(maker.limit());
  for (const std::size_t tensor : added) {
    const std::int64_t share = std::max<std::int64_t>(1, maker.limit() / 16);
    maker.put(tensor, share);
    budget -= static_cast<double>(share);
  }
  const double terms =
      std::ceil(static_cast<double>(bound.length) / static_cast<double>(std::max<std::int64_t>(length, 1)));
  const auto [stride, per_term] = spacing(budget, length, terms);
  if (stride == 0) return false;
  double rest = per_term;
  for (std::size_t i = 1; i < bound.reduced.size(); ++i) {
    const auto factor =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::sqrt(rest)), 1, kLargestFactor);
    maker.put(bound.reduced[i].tensor, factor);
    rest = std::floor(rest / static_cast<double>(factor));
  }
  maker.put(bound.reduced[0].tensor, static_cast<std::int64_t>(rest), bound.reduced[0].dim, stride);
  return true;
}

// Sums along dimensions of one tensor.
bool make_sum(Maker& maker, const DataOperand& x) {
  const at::Tensor& like = maker.state()[x.tensor];
  std::int64_t terms = 1;
  for (const std::int64_t dim : x.meets) terms *= like.size(dim);
  const std::int64_t longest = *std::max_element(x.meets.begin(), x.meets.end(),
                                                 [&](auto a, auto b) { return like.size(a) < like.size(b); });
  const std::int64_t length = like.size(longest);
  if (length == 0) return false;
  const auto [stride, per_term] =
      spacing(static_cast<double>(maker.limit()), length, static_cast<double>(terms / length));
  if (stride == 0) return false;
  maker.put(x.tensor, static_cast<std::int64_t>(per_term), longest, stride);
  return true;
}

// Rows that meet in one target: those for which the budget does not reach are zero.
bool make_index_add(Maker& maker, const std::vector<DataOperand>& operands) {
  if (operands.size() != 2 || operands[1].meets.empty()) return false;
  const at::Tensor* index = maker.state().find("index");
  if (index == nullptr) return false;
  const at::Tensor targets = index->to(at::kLong).contiguous();
  std::vector<std::int64_t> met;
  at::Tensor kept = at::ones({targets.numel()});
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    const auto target = static_cast<std::size_t>(targets.const_data_ptr<std::int64_t>()[i]);
    if (target >= met.size()) met.resize(target + 1);
    if (++met[target] >= maker.limit()) kept[i] = 0.0f;
    most = std::max(most, std::min(met[target], maker.limit() - 1));
  }
  const std::int64_t largest = maker.limit() / (most + 1);
  for (const auto& operand : operands) maker.put(operand.tensor, largest);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(maker.state()[operands[1].tensor].dim()), 1);
  sizes[static_cast<std::size_t>(operands[1].meets.front())] = targets.numel();
  maker.multiply(operands[1].tensor, kept.view(sizes));
  return true;
}

bool make(Maker& maker, const BoundSpec& bound, const std::vector<DataOperand>& operands) {
  switch (bound.family) {
    case Family::kInnerProduct:
      return !operands.empty() && make_inner_product(maker, bound);
    case Family::kSum:
    case Family::kMean:
    case Family::kCumsum:
      return !operands.empty() && !operands[0].meets.empty() && make_sum(maker, operands[0]);
    case Family::kIndexAdd:
      return make_index_add(maker, operands);
    default:
      return false;
  }
}

// The reason why a family cannot be exact on integers; empty: it can.
std::string why_never(const BoundSpec& bound) {
  switch (bound.family) {
    case Family::kMean:
      return std::has_single_bit(static_cast<std::uint64_t>(bound.length)) ? ""
                                                                           : "a mean of this length rounds";
    case Family::kInnerProduct:
    case Family::kSum:
    case Family::kCumsum:
    case Family::kIndexAdd:
      return "";
    case Family::kExact:
    case Family::kRelu:
      return "ordinary inputs leave no room for rounding either";
    default:
      return "this operator rounds on integers as well";
  }
}

// Is a slice of the outputs what the family promises?
bool holds(const cases::Case& definition, const cases::Facts& facts, const State& state, double limit) {
  std::vector<SampledAxis> few;
  for (const auto& axis : facts.independent) {
    const auto& [tensor, dim] = axis.operands.front();
    const std::int64_t size = state[tensor].size(dim);
    few.push_back({axis, tile_aware_positions(size, std::min<std::int64_t>(size, kTried), 1), size});
  }
  const State slice = cases::converted(Sample(std::move(few)).select(state), at::kDouble);
  State magnitudes = slice;
  for (auto& entry : magnitudes.tensors) {
    if (entry.tensor.is_floating_point()) entry.tensor = entry.tensor.abs();
  }
  const double scale = facts.bound.family == Family::kMean ? static_cast<double>(facts.bound.length) : 1.0;
  for (const auto& sums : oracle(definition, magnitudes)) {
    if (sums.numel() > 0 && !(sums.max().item<double>() * scale <= limit)) return false;
  }
  for (const auto& output : oracle(definition, slice)) {
    const at::Tensor integers = output * scale;
    if (!integers.eq(integers.round()).all().item<bool>()) return false;
  }
  return true;
}

}  // namespace

ExactIntegers exact_integers(const cases::Case& definition, const cases::Facts& facts,
                             const cases::State& like, const precision::Precision& precision,
                             std::uint64_t seed) {
  ExactIntegers result;
  result.why_not = why_never(facts.bound);
  if (!result.why_not.empty()) return result;
  Maker maker(definition, like, precision, seed);
  result.limit = static_cast<double>(maker.limit());
  if (!make(maker, facts.bound, data_operands(facts.bound, like))) {
    result.why_not = "no integers keep so many terms exact";
  } else if (!holds(definition, facts, maker.state(), result.limit)) {
    result.why_not = "the case is not exact on integers: it scales or adds something of its own";
  } else {
    result.state = maker.take();
  }
  return result;
}

}  // namespace ampgate::validate
