#include "validate/fingerprint/products.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <set>

#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

struct Layout {
  const char* name;
  bool a_transposed;
  bool b_transposed;
};
constexpr std::array<Layout, 4> kLayouts{
    {{"NN", false, false}, {"NT", false, true}, {"TN", true, false}, {"TT", true, true}}};

// One row of k values, `rows` times; stored transposed where asked.
at::Tensor repeated(const std::vector<Term>& terms, double Term::* side, std::int64_t rows, std::int64_t k,
                    bool stored_transposed, c10::ScalarType type, c10::Device device) {
  at::Tensor row = at::zeros({k}, c10::kDouble);
  for (const Term& term : terms) row.mutable_data_ptr<double>()[term.at] = term.*side;
  const at::Tensor matrix = row.to(type).expand({rows, k});
  return (stored_transposed ? matrix.t().contiguous().t() : matrix.contiguous()).to(device);
}

std::string value_of(const at::Tensor& product) {
  const auto all = texts(product);
  std::string joined;
  for (const auto& value : std::set<std::string>(all.begin(), all.end()))
    joined += (joined.empty() ? "" : "|") + value;
  return joined;
}

}  // namespace

std::vector<Size> sizes_for(std::int64_t depth) {
  const std::int64_t k = std::max<std::int64_t>(depth, 64);
  return {{1, 1, depth},  {1, 64, depth},  {64, 1, depth},     {16, 16, depth},  {33, 17, k},
          {128, 128, k}, {128, 128, 1024}, {16, 16, 4096},     {16, 16, 4097}};
}

Outcomes products(c10::Device device, c10::ScalarType type, const std::vector<Term>& terms,
                  const std::vector<Size>& sizes) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  Outcomes outcomes;
  std::vector<std::string> values;
  for (const Layout& layout : kLayouts) {
    std::string by_size;
    for (const Size& size : sizes) {
      const at::Tensor a = repeated(terms, &Term::a, size.m, size.k, layout.a_transposed, type, device);
      const at::Tensor b = repeated(terms, &Term::b, size.n, size.k, !layout.b_transposed, type, device).t();
      const std::string value = value_of(at::mm(a, b));
      ++outcomes.seen[value];
      auto place = std::find(values.begin(), values.end(), value);
      if (place == values.end()) place = values.insert(values.end(), value);
      by_size += kDigits.at(std::min<std::size_t>(static_cast<std::size_t>(place - values.begin()), 35));
    }
    outcomes.raw[layout.name] = by_size;
  }
  outcomes.raw["values"] = values;
  return outcomes;
}

}  // namespace ampgate::validate::fingerprint
