#include "cases/training/like.h"

#include <sstream>
#include <stdexcept>

#include "precision/precision.h"

namespace ampgate::cases {
namespace {

std::string sizes_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

}  // namespace

void check_like(const std::string& name, const at::Tensor& tensor, const at::Tensor& own, bool same_types) {
  const auto refuse = [&](const std::string& there, const std::string& here) {
    throw std::invalid_argument("tensor '" + name + "' is " + there + ", this training's is " + here);
  };
  if (tensor.sizes() != own.sizes()) refuse(sizes_of(tensor), sizes_of(own));
  const bool fits = tensor.scalar_type() == own.scalar_type() ||
                    (!same_types && tensor.is_floating_point() && own.is_floating_point());
  if (!fits) refuse(precision::type_name(tensor.scalar_type()), precision::type_name(own.scalar_type()));
}

}  // namespace ampgate::cases
