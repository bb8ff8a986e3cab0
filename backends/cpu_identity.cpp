#include <ATen/Version.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "backends/cpu.h"

namespace ampgate::backends {
namespace {

constexpr const char* kUnknown = "not reported";

// The first processor's block of /proc/cpuinfo.
std::map<std::string, std::string> first_processor() {
  std::map<std::string, std::string> values;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t key_end = line.find_last_not_of(" \t", colon - 1);
    const std::size_t value_begin = line.find_first_not_of(" \t", colon + 1);
    values[line.substr(0, key_end + 1)] = value_begin == std::string::npos ? "" : line.substr(value_begin);
  }
  return values;
}

std::string value_or_unknown(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() || found->second.empty() ? kUnknown : found->second;
}

// Of all flags those that decide which 16-bit and FP32 kernels can run.
std::string relevant_isa(const std::string& flags) {
  constexpr std::array kRelevant{"avx2",     "fma",         "f16c",        "avx_vnni",    "avx512f",
                                 "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
                                 "amx_bf16", "amx_fp16",    "asimd",       "fphp",        "asimdhp",
                                 "bf16",     "sve"};
  std::string present;
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    for (const char* name : kRelevant) {
      if (word == name) present += (present.empty() ? "" : " ") + word;
    }
  }
  return present.empty() ? kUnknown : present;
}

std::string sha256_hex(const std::string& text) {
  std::array<unsigned char, 32> bytes{};
  if (EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw DeviceError("cpu: OpenSSL cannot compute SHA-256; check its installation");
  }
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 0xf];
  }
  return hex;
}

std::string machine_id() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  file >> id;
  return id;
}

Identity read_identity() {
  const auto processor = first_processor();
  const std::string name = value_or_unknown(processor, "model name");
  const std::string family = value_or_unknown(processor, "cpu family");
  const std::string model = value_or_unknown(processor, "model");
  const std::string stepping = value_or_unknown(processor, "stepping");
  const std::string microcode = value_or_unknown(processor, "microcode");
  const std::string capability = at::get_cpu_capability();
  const std::string machine = machine_id();

  Identity identity;
  identity.model = name + " (family " + family + ", model " + model + ")";
  // Hypervisors hide the true model, so the flags take part.
  const auto flags = processor.find("flags");
  const auto features = processor.find("Features");
  const std::string isa = relevant_isa(flags != processor.end()      ? flags->second
                                       : features != processor.end() ? features->second
                                                                     : "");
  std::string bound = "ampgate cpu";
  for (const std::string& part : {machine, identity.model, stepping, microcode, isa, capability}) {
    bound += '\n' + part;
  }
  identity.uuid = "cpu-" + sha256_hex(bound).substr(0, 32);
  identity.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  identity.fields = {
      {"model_name", name},
      {"family", family},
      {"model", model},
      {"stepping", stepping},
      {"microcode", microcode},
      {"isa", isa},
      {"aten_cpu_capability", capability},
      {"logical_cpus", std::to_string(sysconf(_SC_NPROCESSORS_CONF))},
      {"machine_id", machine.empty() ? "not readable: the uuid does not tell apart machines of one model"
                                     : "part of the uuid"},
  };
  return identity;
}

}  // namespace

// Read once: a body that uses up descriptors must not make this another machine.
Identity cpu_identity() {
  static const Identity identity = read_identity();
  return identity;
}

}  // namespace ampgate::backends
