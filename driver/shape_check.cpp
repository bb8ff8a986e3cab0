#include "driver/shape_check.h"

#include <fmt/format.h>

#include "driver/plan.h"
#include "driver/words.h"
#include "driver/worker.h"
#include "results/error.h"

namespace ampgate::driver {

using results::Json;

std::vector<Json> ask_facts(const WorkerFolder& folder, const std::vector<CaseShape>& shapes) {
  Json asked{{"shapes", Json::array()}};
  for (const auto& shape : shapes)
    asked["shapes"].push_back({{"case", shape.info->name}, {"shape", shape.sizes}});
  if (!folder.files.is_null()) asked["files"] = folder.files;
  WorkerSetup setup;
  setup.folder = &folder;
  setup.environment = child_environment(1);
  const Json answer = ask_worker(setup, "facts", asked.dump());
  if (!answer.is_array() || answer.size() != shapes.size()) {
    throw results::EnvironmentError(folder.validate().string() + " facts: not an answer for each shape",
                                    "build the workers again");
  }
  return {answer.begin(), answer.end()};
}

Memory least_memory(const Json& facts) {
  const Json& fp32 = facts.at("precisions").at(kBaseline);
  const double tensors = fp32.at("tensor_bytes").get<double>();
  return {tensors, tensors + fp32.value("output_bytes", 0.0)};
}

std::string too_large(const Memory& needed, const Memory& available, const std::string& device) {
  const bool host_only = device == "cpu";
  const double host = needed.host_bytes + (host_only ? needed.device_bytes : 0.0);
  const auto words = [](double asked, const std::string& where, double there) {
    return fmt::format("to validate it takes at least {} of {} memory, and {} are there", bytes_words(asked),
                       where, bytes_words(there));
  };
  if (host > available.host_bytes)
    return words(host, host_only ? "the machine's" : "the host's", available.host_bytes);
  if (!host_only && needed.device_bytes > available.device_bytes)
    return words(needed.device_bytes, device + "'s", available.device_bytes);
  return {};
}

void check_shapes(const std::vector<CaseShape>& shapes, const WorkerFolder& folder,
                  const std::string& device) {
  const auto facts = ask_facts(folder, shapes);
  const Memory available = memory_for(device, folder);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto& shape = shapes[i];
    if (facts[i].contains("problem"))
      throw results::UsageError(shape.from + ": " + facts[i].at("problem").get<std::string>(),
                                "give sizes that fit the case");
    const auto problem = too_large(least_memory(facts[i]), available, device);
    if (!problem.empty()) {
      throw results::UsageError(fmt::format("{}: {}/{} is too large: {}", shape.from, shape.info->name,
                                            shape.info->shape_name(shape.sizes), problem),
                                "give smaller sizes, or run on a machine with more memory");
    }
  }
}

}  // namespace ampgate::driver
