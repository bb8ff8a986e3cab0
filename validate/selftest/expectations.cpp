#include "validate/selftest/expectations.h"

#include <algorithm>
#include <utility>

namespace ampgate::validate::selftest {
namespace {

constexpr auto kMust = Expectation::kMustCatch;
constexpr auto kMiss = Expectation::kMayMiss;
constexpr auto kNot = Expectation::kNotApplicable;

// Groups of operators. Exact-integer inputs (threshold 0) exist for those that only multiply and add.
constexpr std::string_view kProducts = "matmul mm bmm linear addmm conv2d conv_transpose2d";
constexpr std::string_view kLinearSums = "matmul mm bmm linear addmm conv2d conv_transpose2d sum mean cumsum";
constexpr std::string_view kExactIntegers =
    "matmul mm bmm linear addmm conv2d conv_transpose2d sum cumsum index_add embedding";
constexpr std::string_view kAttention = "scaled_dot_product_attention";

constexpr std::string_view kBelowE =
    "within E: FP32 arithmetic itself may be off by some 40 units in the last place";
constexpr std::string_view kStoresP = "E allows 16-bit probabilities, which move a result by more than this";
constexpr std::string_view kStoresSum =
    "E allows maximum and logarithm of the sum in 16 bit, as correct kernels store them";
constexpr std::string_view kOwnType =
    "its contract is a running sum in the tensor's own type, so E holds many such roundings";
constexpr std::string_view kNoEdges = "edge inputs do not go through models";
constexpr std::string_view kAnyOfModel =
    "depends on the operator of the model that it hits: attention may store probabilities in 16 bit";
constexpr std::string_view kPartials =
    "known FP16 kernels of this operator store partial sums in FP16: allowed as suspect";
constexpr std::string_view kOneElement = "the result has one element";
constexpr std::string_view kNoInfinity = "no infinite result occurs: infinite inputs give NaN";

// Mantissa bit `bit` counted from the top: it is worth 2^-bit of the value's power of two.
std::vector<Line> mantissa_lines(int bit) {
  std::vector<Line> lines;
  if (bit > 7) lines.push_back({"*", "bf16", kNot, "BF16 has seven mantissa bits"});
  if (bit > 10) lines.push_back({"*", "fp16", kNot, "FP16 has ten mantissa bits"});
  if (bit >= 12) {
    lines.push_back({kExactIntegers, "fp32", kMust});
    lines.push_back({"*", "fp32", kMiss, kBelowE});
  }
  const auto last_bits = [&](std::string_view types, int significand) {
    if (bit > significand) return;
    if (bit > significand - 3) lines.push_back({"cross_entropy_loss", types, kMiss, kStoresSum});
    if (bit <= significand - 2) return;
    lines.push_back({kAttention, types, kMiss, kStoresP});
    lines.push_back({"log_softmax", types, kMiss, kStoresSum});
    lines.push_back({"models", types, kMiss, kAnyOfModel});
  };
  last_bits("fp16", 10);
  last_bits("bf16", 7);
  lines.push_back({"*", "*", kMust});
  return lines;
}

std::vector<Line> exponent_lines(int bit) {
  if (bit <= 5) return {{"*", "*", kMust}};
  return {{"*", "fp16", kNot, "FP16 has five exponent bits"}, {"*", "*", kMust}};
}

void add_flips(std::vector<Kind>& table) {
  table.push_back({"flip-sign", "the sign of one element is flipped", "*", {{"*", "*", kMust}}});
  for (int bit = 1; bit <= 8; ++bit) {
    table.push_back({"flip-exponent-" + std::to_string(bit),
                     "exponent bit " + std::to_string(bit) + " from the top is flipped in one element", "*",
                     exponent_lines(bit)});
  }
  for (int bit = 1; bit <= 23; ++bit) {
    table.push_back({"flip-mantissa-" + std::to_string(bit),
                     "mantissa bit " + std::to_string(bit) + " from the top is flipped in one element", "*",
                     mantissa_lines(bit)});
  }
}

void add_elements(std::vector<Kind>& table) {
  table.push_back({"nan-element", "one element is NaN", "*", {{"*", "*", kMust}}});
  table.push_back({"inf-element", "one element is infinite", "*", {{"*", "*", kMust}}});
  add_flips(table);
  const std::vector<Line> more_than_one{{"cross_entropy_loss", "*", kNot, kOneElement}, {"*", "*", kMust}};
  table.push_back({"all-zeros", "every element is 0", "*", {{"*", "*", kMust}}});
  table.push_back({"constant", "every element is the result's mean", "*", more_than_one});
  table.push_back({"scaled",
                   "every value is 0.8 % too large",
                   "*",
                   {{"cross_entropy_loss", "bf16", kMiss, kStoresSum}, {"*", "*", kMust}}});
  table.push_back({"low-bit-stuck",
                   "the lowest bit of every element is 1",
                   "*",
                   {{kExactIntegers, "*", kMust},
                    {"*", "fp32", kMiss, kBelowE},
                    {kAttention, "*", kMiss, kStoresP},
                    {"log_softmax cross_entropy_loss", "*", kMiss, kStoresSum},
                    {"*", "*", kMust}}});
  table.push_back({"previous-result", "the result is that of the batch before", "*", {{"*", "*", kMust}}});
  table.push_back({"stale-tile", "a tile of 8 x 8 holds the batch before", "*", {{"*", "*", kMust}}});
  table.push_back({"unwritten-tile",
                   "a tile of 8 x 8 is not written",
                   "*",
                   {{"models", "*", kMiss,
                     "poisoned blocks have the sizes of outputs; those of intermediates may hold the right "
                     "values of an earlier run"},
                    {"*", "*", kMust}}});
  table.push_back({"transposed-tile", "a square tile is stored transposed", "*", more_than_one});
  table.push_back({"swapped-rows", "the first two rows are swapped", "*", more_than_one});
  table.push_back({"shifted", "every element stands one place too far", "*", more_than_one});
  table.push_back({"tail-missing", "what lies behind the last full tile of a row is 0", "*", more_than_one});
  table.push_back({"last-repeated", "the last element of a row repeats the one before", "*", more_than_one});
}

void add_rounding(std::vector<Kind>& table) {
  constexpr std::string_view kMoves = "it only moves values: nothing is rounded";
  const Line moves{"embedding", "*", kNot, kMoves};
  table.push_back({"truncated",
                   "the result is truncated instead of rounded",
                   "*",
                   {moves,
                    {"*", "fp32", kMiss, kBelowE},
                    {"index_add", "*", kMiss, kOwnType},
                    {kAttention, "*", kMiss, kStoresP},
                    {"log_softmax cross_entropy_loss", "*", kMiss, kStoresSum},
                    {"*", "*", kMust}}});
  table.push_back({"ties-away",
                   "ties are rounded away from zero instead of to even",
                   "*",
                   {moves, {"*", "*", kMiss, "it differs at exact ties only, which hardly occur"}}});
  table.push_back({"rounded-twice",
                   "the result is rounded to FP32 first, then to 16 bit",
                   "*",
                   {moves,
                    {"*", "fp32", kNot, "the first rounding is the last"},
                    {"*", "*", kMiss, "a result rounded twice differs nowhere in a million"}}});
  table.push_back({"through-bf16",
                   "the result has gone through BF16",
                   "*",
                   {{"*", "bf16", kNot, "BF16 is its type"},
                    {"index_add", "fp16", kMiss, kOwnType},
                    {"cross_entropy_loss", "fp16", kMiss, kStoresSum},
                    {"*", "*", kMust}}});
  table.push_back(
      {"wrong-type", "the result comes in a 16-bit type that nobody asked for", "*", {{"*", "*", kMust}}});
  table.push_back({"wrong-shape", "the result has one dimension more", "*", {{"*", "*", kMust}}});
  table.push_back({"subnormals-flushed",
                   "subnormal operands and results are taken for 0",
                   "*",
                   {{"models", "*", kMiss, kNoEdges},
                    {"embedding", "*", kMust},
                    {"*", "fp32 bf16", kMiss, "E allows it here: LibTorch's CPU kernels flush them"},
                    {"exp softmax log_softmax cross_entropy_loss", "*", kMiss,
                     "subnormal inputs change no result, and no result is subnormal"},
                    {"layer_norm group_norm batch_norm rms_norm", "*", kMiss,
                     "eps and bias are larger by far than what is lost"},
                    {"*", "*", kMust}}});
  table.push_back({"negative-zero-lost",
                   "-0 becomes +0",
                   "*",
                   {{"embedding", "*", kMust}, {"*", "*", kMiss, "-0 and +0 count as the same result"}}});
  table.push_back({"saturated",
                   "an infinite result is the largest finite value instead",
                   "*",
                   {{"models", "*", kMiss, kNoEdges},
                    {"softmax layer_norm group_norm rms_norm cross_entropy_loss", "*", kMiss, kNoInfinity},
                    {"sigmoid tanh erf", "*", kNot, "no result is beyond 1"},
                    {"*", "*", kMust}}});
  table.push_back({"nan-swallowed",
                   "a NaN result is 0 instead",
                   "*",
                   {{"models", "*", kMiss, kNoEdges},
                    {kAttention, "*", kMiss,
                     "LibTorch's fused CPU kernel swallows a NaN query itself: the finding is there without "
                     "the fault"},
                    {"*", "*", kMust}}});
}

void add_calls(std::vector<Kind>& table) {
  table.push_back({"inputs-overwritten", "the operator writes into its operands", "*", {{"*", "*", kMust}}});
  table.push_back({"race",
                   "one run in ten gives a wrong element",
                   "*",
                   {{"*", "*", kMiss, "29 repeats are needed to see one in ten with 95 %"}}});
  table.push_back({"after-first-call",
                   "one element is wrong from the second call on",
                   "*",
                   {{"*", "*", kMiss, "the repetition sees it, not the deciding run"}}});
  table.push_back({"after-1000-calls",
                   "one element is wrong from call 1000 on",
                   "*",
                   {{"*", "*", kMiss, "phase 2 finds it when it checks the output after timing"}}});
}

void add_products(std::vector<Kind>& table) {
  table.push_back({"tf32-operands",
                   "operands of an FP32 product are rounded to TF32",
                   "matmul mm bmm linear addmm conv2d conv_transpose2d scaled_dot_product_attention",
                   {{"*", "fp16 bf16", kNot, "16-bit operands fit TF32"}, {"*", "*", kMust}}});
  table.push_back({"cast-truncated",
                   "autocast truncates the operands instead of rounding them",
                   kProducts,
                   {{"*", "fp32", kNot, "nothing is cast"}, {"*", "*", kMust}}});
  table.push_back(
      {"transposed-weight", "the second operand is read as its transpose", kProducts, {{"*", "*", kMust}}});
  table.push_back({"dropped-k-block",
                   "the last block of the sum is left out",
                   "matmul mm bmm linear addmm conv2d conv_transpose2d sum mean cumsum softmax log_softmax",
                   {{"*", "*", kMust}}});
  table.push_back(
      {"k-block-twice", "the last block of the sum is added twice", kLinearSums, {{"*", "*", kMust}}});
  table.push_back({"split-k-16-bit",
                   "four partial sums are stored in 16 bit",
                   "matmul mm bmm linear addmm conv2d conv_transpose2d sum mean",
                   {{"conv_transpose2d", "fp16", kMiss, kPartials}, {"*", "*", kMust}}});
  table.push_back({"accumulation-fp16",
                   "the running sum is kept in FP16",
                   kLinearSums,
                   {{"conv_transpose2d", "fp16", kMiss, kPartials},
                    {"sum mean", "bf16", kMiss,
                     "FP16 has three bits more than the result: only a rounding that flips shows it, in a "
                     "handful of elements"},
                    {"*", "*", kMust}}});
  table.push_back({"accumulation-bf16", "the running sum is kept in BF16", kLinearSums, {{"*", "*", kMust}}});
  table.push_back({"wrong-padding", "the border is repeated instead of zero", "conv2d", {{"*", "*", kMust}}});
  table.push_back({"wrong-dilation", "the taps lie twice as far apart", "conv2d", {{"*", "*", kMust}}});
  table.push_back(
      {"wrong-stride", "every other result is computed, and repeated", "conv2d", {{"*", "*", kMust}}});
  table.push_back({"bias-ignored",
                   "the bias is not added",
                   "linear addmm conv2d layer_norm group_norm batch_norm",
                   {{"*", "*", kMust}}});
}

void add_norms(std::vector<Kind>& table) {
  constexpr std::string_view kNorms = "layer_norm group_norm rms_norm batch_norm";
  constexpr std::string_view kTooSmall =
      "it moves a value by 5e-6 of itself, far below 16-bit rounding: only values that lie near a rounding "
      "boundary show it";
  table.push_back({"eps-ignored",
                   "eps is not added to the variance",
                   kNorms,
                   {{"batch_norm models", "fp16 bf16", kMiss, kTooSmall}, {"*", "*", kMust}}});
  table.push_back({"eps-wrong", "eps is a thousand times too large", kNorms, {{"*", "*", kMust}}});
  table.push_back(
      {"weight-ignored", "the result is not multiplied by the weight", kNorms, {{"*", "*", kMust}}});
  table.push_back({"one-pass-variance",
                   "the variance is E[x^2] - E[x]^2 in FP32",
                   "layer_norm group_norm",
                   {{"models", "*", kMiss, kNoEdges}, {"*", "*", kMust}}});
  table.push_back({"n-minus-one",
                   "the mean or the variance is divided by n - 1",
                   "layer_norm group_norm rms_norm mean",
                   {{"*", "*", kMust}}});
  table.push_back({"wrong-groups",
                   "the channels are divided into half as many groups",
                   "group_norm",
                   {{"*", "*", kMust}}});
  table.push_back({"batch-statistics",
                   "statistics of the batch instead of the stored ones",
                   "batch_norm",
                   {{"*", "*", kMust}}});
  table.push_back({"mean-ignored", "the stored mean is taken as 0", "batch_norm", {{"*", "*", kMust}}});
}

void add_softmax_and_attention(std::vector<Kind>& table) {
  table.push_back({"wrong-dimension",
                   "reduced along another dimension",
                   "softmax log_softmax sum mean cumsum",
                   {{"*", "*", kMust}}});
  table.push_back({"no-max-subtraction",
                   "the maximum is not subtracted before the exponential",
                   "softmax log_softmax scaled_dot_product_attention",
                   {{"models", "*", kMiss, kNoEdges}, {"*", "*", kMust}}});
  table.push_back({"softmax-sum-16-bit",
                   "the sum of the exponentials is kept in 16 bit",
                   "softmax log_softmax",
                   {{"log_softmax", "fp16 bf16", kMiss, kStoresSum}, {"*", "*", kMust}}});
  table.push_back(
      {"attention-scale", "scores are divided by d instead of its root", kAttention, {{"*", "*", kMust}}});
  table.push_back({"attention-causal", "a causal mask is applied", kAttention, {{"*", "*", kMust}}});
  table.push_back({"attention-key-dropped", "the last key is masked", kAttention, {{"*", "*", kMust}}});
  table.push_back({"attention-keys-shifted",
                   "each value goes with the key of its neighbour",
                   kAttention,
                   {{"*", "*", kMust}}});
}

void add_others(std::vector<Kind>& table) {
  table.push_back({"tanh-for-erf", "the other formula for gelu", "gelu", {{"*", "*", kMust}}});
  table.push_back({"relu-leaks", "negative values pass at 1 %", "relu", {{"*", "*", kMust}}});
  table.push_back(
      {"pool-average", "the mean of a window instead of its maximum", "max_pool2d", {{"*", "*", kMust}}});
  table.push_back({"residual-dropped", "the second operand is not added", "add", {{"*", "*", kMust}}});
  table.push_back({"index-off-by-one",
                   "the index is one too large",
                   "embedding index_add cross_entropy_loss",
                   {{"*", "*", kMust}}});
  table.push_back({"last-source-dropped", "the last source is not added", "index_add", {{"*", "*", kMust}}});
  table.push_back({"sum-for-mean",
                   "the losses are added instead of averaged",
                   "cross_entropy_loss",
                   {{"*", "*", kMust}}});
}

std::string_view type_word(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Half:
      return "fp16";
    case c10::ScalarType::BFloat16:
      return "bf16";
    default:
      return "fp32";
  }
}

bool fits(const Line& line, const Subject& subject, std::string_view type) {
  if (!names(line.types, type)) return false;
  if (line.where == "*" || (subject.model && names(line.where, "models"))) return true;
  // A model's operators are judged as part of it: lines about a single operator are not about models.
  return !subject.model && std::any_of(subject.operators.begin(), subject.operators.end(),
                                       [&](const std::string& name) { return names(line.where, name); });
}

}  // namespace

std::string_view to_string(Expectation expectation) {
  switch (expectation) {
    case Expectation::kMustCatch:
      return "must-catch";
    case Expectation::kMayMiss:
      return "may-miss";
    case Expectation::kNotApplicable:
      return "not-applicable";
  }
  return "";
}

bool names(std::string_view words, std::string_view word) {
  if (words == "*") return true;
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = [] {
    std::vector<Kind> made;
    add_elements(made);
    add_rounding(made);
    add_calls(made);
    add_products(made);
    add_norms(made);
    add_softmax_and_attention(made);
    add_others(made);
    return made;
  }();
  return table;
}

Expected expected(const Kind& kind, const Subject& subject, c10::ScalarType type) {
  const bool has_operator = std::any_of(subject.operators.begin(), subject.operators.end(),
                                        [&](const std::string& name) { return names(kind.operators, name); });
  if (!has_operator) return {kNot, "the case has no such operator"};
  for (const auto& line : kind.lines) {
    if (fits(line, subject, type_word(type))) return {line.expectation, line.reason};
  }
  return {kNot, "the table does not say"};
}

}  // namespace ampgate::validate::selftest
