#include "cases/training/generators.h"

#include <ATen/Context.h>

#include <mutex>
#include <stdexcept>

#include "cases/training/like.h"

namespace ampgate::cases {
namespace {

std::string name_of(c10::Device device) { return c10::DeviceTypeName(device.type(), /*lower_case=*/true); }

// The CPU's comes first: data and parts of a model may stay there.
template <typename Visit>
void for_each_generator(c10::Device device, Visit visit) {
  const auto locked = [&](c10::Device own) {
    at::Generator generator = at::globalContext().defaultGenerator(own);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    visit(name_of(own), generator);
  };
  locked(c10::kCPU);
  if (!device.is_cpu()) locked(device);
}

}  // namespace

void seed_generators(std::uint64_t seed, c10::Device device) {
  for_each_generator(device,
                     [&](const std::string&, at::Generator& generator) { generator.set_current_seed(seed); });
}

GeneratorStates generator_states(c10::Device device) {
  GeneratorStates states;
  for_each_generator(device, [&](const std::string& name, at::Generator& generator) {
    states[name] = generator.get_state();
  });
  return states;
}

void check_generator_states(const GeneratorStates& states, c10::Device device) {
  for_each_generator(device, [&](const std::string& name, at::Generator& generator) {
    const auto found = states.find(name);
    if (found == states.end())
      throw std::invalid_argument("the state of the random generator of '" + name + "' is missing");
    check_like("generators." + name, found->second, generator.get_state(), true);
    try {
      generator.clone().set_state(found->second);
    } catch (const c10::Error& error) {
      throw std::invalid_argument("tensor 'generators." + name +
                                  "' is no state of a random generator: " + error.what_without_backtrace());
    }
  });
  const std::size_t own = device.is_cpu() ? 1 : 2;
  if (states.size() != own)
    throw std::invalid_argument("it holds the states of " + std::to_string(states.size()) +
                                " random generators, this training has " + std::to_string(own));
}

void set_generator_states(const GeneratorStates& states, c10::Device device) {
  for_each_generator(device, [&](const std::string& name, at::Generator& generator) {
    if (const auto found = states.find(name); found != states.end()) generator.set_state(found->second);
  });
}

}  // namespace ampgate::cases
