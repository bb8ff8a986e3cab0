#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "cases/safetensors.h"
#include "cases/safetensors_types.h"
#include "results/json.h"

namespace ampgate::cases {
namespace {

using results::Json;

struct Placed {
  std::ptrdiff_t rank;  // of its type
  const std::string* name;
  const at::Tensor* tensor;
};

// Throws unless the format can hold the tensor.
std::ptrdiff_t rank_of(const std::string& name, const at::Tensor& tensor) {
  const auto fail = [&](const std::string& why) {
    throw std::invalid_argument("tensor '" + name + "' cannot be written as safetensors: " + why);
  };
  if (name == "__metadata__") fail("the name is the format's own");
  if (!tensor.defined()) fail("undefined");
  if (tensor.layout() != at::kStrided || tensor.is_quantized() || tensor.is_meta()) fail("not dense");
  const auto found =
      std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                   [&](const SafetensorsType& known) { return known.type == tensor.scalar_type(); });
  if (found == kSafetensorsTypes.end()) fail(std::string("no type for ") + toString(tensor.scalar_type()));
  return found - kSafetensorsTypes.begin();
}

// By type, then by name: the order of the format's own library.
std::vector<Placed> placed(const std::map<std::string, at::Tensor>& tensors) {
  std::vector<Placed> order;
  for (const auto& [name, tensor] : tensors) order.push_back({rank_of(name, tensor), &name, &tensor});
  std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.rank, *a.name) < std::tie(b.rank, *b.name);
  });
  return order;
}

std::string header(const std::vector<Placed>& order) {
  Json::object_t descriptions;
  std::uint64_t end = 0;
  for (const auto& [rank, name, tensor] : order) {
    const std::uint64_t begin = end;
    end += tensor->nbytes();
    descriptions.emplace_back(*name, Json{{"dtype", kSafetensorsTypes[static_cast<std::size_t>(rank)].name},
                                          {"shape", tensor->sizes().vec()},
                                          {"data_offsets", {begin, end}}});
  }
  std::string text;
  try {
    text = Json(std::move(descriptions)).dump();
  } catch (const Json::type_error& error) {
    throw std::invalid_argument(std::string("a tensor's name cannot be written: ") + error.what());
  }
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::map<std::string, at::Tensor>& tensors,
                       const std::function<void(std::string_view)>& sink) {
  const std::vector<Placed> order = placed(tensors);
  const std::string text = header(order);
  const std::uint64_t length = text.size();
  sink({reinterpret_cast<const char*>(&length), kLengthBytes});
  sink(text);
  for (const Placed& entry : order) {
    const at::Tensor dense = entry.tensor->detach().resolve_neg().cpu().contiguous();
    if (dense.numel() != 0) sink({static_cast<const char*>(dense.const_data_ptr()), dense.nbytes()});
  }
}

}  // namespace ampgate::cases
