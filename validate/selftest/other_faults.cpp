// Faults of activations, pooling, additions, indices and losses.
#include <ATen/ATen.h>
#include <ATen/core/Reduction.h>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

at::Tensor other_gelu(Call& call) {
  const auto approximate = call.find("approximate");
  if (!approximate) return {};
  const bool exact = call.arguments()[*approximate].toStringRef() == "none";
  return call.exact(
      [&](Arguments& changed) { changed[*approximate] = std::string(exact ? "tanh" : "none"); });
}

at::Tensor relu_leaks(Call& call) {
  const at::Tensor x = call.arguments()[0].toTensor();
  return at::where(x.lt(0.0), x * 0.01, call.right());
}

at::Tensor pool_average(Call& call) {
  const auto kernel = call.find("kernel_size"), stride = call.find("stride"), padding = call.find("padding");
  const auto& arguments = call.arguments();
  return at::avg_pool2d(arguments[0].toTensor(), arguments[*kernel].toIntVector(),
                        arguments[*stride].toIntVector(), arguments[*padding].toIntVector());
}

at::Tensor residual_dropped(Call& call) {
  const at::Tensor first = call.arguments()[0].toTensor();
  return first.sizes() == call.right().sizes() ? first.to(call.type()).clone() : at::Tensor();
}

// Index and number of the values that it may take, by operator.
at::Tensor index_off_by_one(Call& call) {
  const bool embeds = call.name() == "embedding";
  const auto index = call.find(embeds ? "indices" : call.name() == "index_add" ? "index" : "target");
  if (!index) return {};
  const at::Tensor first = call.arguments()[0].toTensor();
  const auto dim = call.find("dim");
  const std::int64_t range = embeds ? first.size(0)
                             : dim  ? first.size(call.arguments()[*dim].toInt())
                                    : first.size(1);
  Arguments changed = call.arguments();
  changed[*index] = (changed[*index].toTensor() + 1).remainder(range);
  return call.with(changed);
}

at::Tensor last_source_dropped(Call& call) {
  const auto dim = call.find("dim"), index = call.find("index"), source = call.find("source");
  if (!dim || !index || !source) return {};
  Arguments changed = call.arguments();
  const std::int64_t kept = changed[*index].toTensor().numel() - 1;
  changed[*index] = changed[*index].toTensor().narrow(0, 0, kept);
  changed[*source] = changed[*source].toTensor().narrow(changed[*dim].toInt(), 0, kept);
  return call.with(changed);
}

at::Tensor sum_for_mean(Call& call) {
  const auto reduction = call.find("reduction");
  if (!reduction || call.arguments()[*reduction].toInt() != at::Reduction::Mean) return {};
  Arguments changed = call.arguments();
  changed[*reduction] = static_cast<std::int64_t>(at::Reduction::Sum);
  return call.with(changed);
}

}  // namespace

void add_other_faults(Faults& faults) {
  faults["tanh-for-erf"] = {other_gelu};
  faults["relu-leaks"] = {relu_leaks};
  faults["pool-average"] = {pool_average};
  faults["residual-dropped"] = {residual_dropped};
  faults["index-off-by-one"] = {index_off_by_one};
  faults["last-source-dropped"] = {last_source_dropped};
  faults["sum-for-mean"] = {sum_for_mean};
}

}  // namespace ampgate::validate::selftest
