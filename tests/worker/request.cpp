#include "request.h"

#include <errno.h>

#include <cstdlib>

#include "precision/precision.h"

namespace ampgate::cases {
namespace {

Request read_request() {
  const char* text = std::getenv("AMPGATE_MISBEHAVE");
  Request result;
  if (text == nullptr) return result;
  const std::string all = text;
  const auto first = all.find('@');
  const auto second = all.find('@', first + 1);
  result.what = all.substr(0, first);
  result.program = all.substr(first + 1, second - first - 1);
  result.type = all.substr(second + 1);
  if (const auto colon = result.what.find(':'); colon != std::string::npos) {
    result.first_call = std::stol(result.what.substr(colon + 1));
    result.what.resize(colon);
  }
  if (result.what.starts_with("slow")) result.slower_by = std::stod(result.what.substr(4)) / 100;
  return result;
}

}  // namespace

bool Request::is_for(c10::ScalarType type_of_call) const {
  return program == program_invocation_short_name && type == precision::type_name(type_of_call);
}

const Request& request() {
  static const Request read = read_request();
  return read;
}

void poke(const at::Tensor& tensor, std::int64_t position, float value) {
  switch (tensor.scalar_type()) {
    case at::kHalf:
      tensor.data_ptr<at::Half>()[position] = value;
      break;
    case at::kBFloat16:
      tensor.data_ptr<at::BFloat16>()[position] = value;
      break;
    default:
      tensor.data_ptr<float>()[position] = value;
  }
}

}  // namespace ampgate::cases
