#include "cases/data.h"

#include <cstdlib>

#include "cases/safetensors.h"

namespace ampgate::cases {

std::map<std::string, at::Tensor> load_safetensors(const std::filesystem::path& file) {
  return read_safetensors(file, "restore the file; AMPGATE_DATA names the folder of the models' data");
}

std::filesystem::path data_file(const std::string& name) {
  if (const char* folder = std::getenv("AMPGATE_DATA"); folder != nullptr && *folder != '\0') {
    return std::filesystem::path(folder) / name;
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / "../../../share/ampgate/data" / name).lexically_normal();
}

}  // namespace ampgate::cases
