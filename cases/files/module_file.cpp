#include "cases/files/module_file.h"

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <regex>

#include "cases/files/zip_checksums.h"
#include "results/error.h"

namespace ampgate::cases::files {
namespace {

namespace fs = std::filesystem;

constexpr auto kSave = "save it with torch.jit.script(model).save(FILE) or torch.jit.trace(...).save(FILE)";
constexpr std::size_t kMostCode = std::size_t{64} << 20;  // bytes, unpacked

class Bytes final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Bytes(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}
  size_t size() const override { return bytes_->size(); }
  size_t read(uint64_t pos, void* buf, size_t n, const char*) const override {
    if (pos >= bytes_->size()) return 0;
    const std::size_t count = std::min(n, bytes_->size() - pos);
    std::memcpy(buf, bytes_->data() + pos, count);
    return count;
  }

 private:
  std::shared_ptr<const std::string> bytes_;
};

std::string message(const std::exception& error) {
  const auto* ours = dynamic_cast<const c10::Error*>(&error);
  std::string text = ours != nullptr ? ours->what_without_backtrace() : error.what();
  text.erase(0, text.find_first_not_of(" \n"));
  return text.substr(0, text.find('\n'));
}

// The first thing in this code that must not be there, in words.
std::string forbidden_in(const std::string& code) {
  static const std::regex kState(R"(\bdef\s+__setstate__\b)");
  static const std::regex kFiles(R"(\b(?:torch|aten)\s*\.\s*(save|from_file)\b)");
  static const std::regex kSpace(R"(\bops\s*\.\s*aten\b(?!\s*\.))");
  std::smatch match;
  if (std::regex_search(code, kState)) return "runs code of its own while it is loaded (__setstate__)";
  if (std::regex_search(code, match, kFiles))
    return "reads or writes other files (aten::" + match[1].str() + ")";
  if (std::regex_search(code, kSpace)) return "gives operators other names";
  return {};
}

std::size_t most_bytes() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return static_cast<std::size_t>(pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 4);
}

// A bit that changed on the way would be another model.
void check_content(const ModuleFile& file, const std::string& bytes,
                   caffe2::serialize::PyTorchStreamReader& reader) {
  const auto checksums = zip_checksums(bytes);
  for (const std::string& record : reader.getAllRecords()) {
    // In the archive they stand in one folder of any name.
    const auto known = std::find_if(checksums.begin(), checksums.end(), [&](const auto& entry) {
      return entry.first.substr(entry.first.find('/') + 1) == record;
    });
    if (known == checksums.end()) continue;
    const auto [data, size] = reader.getRecord(record);
    if (crc32(data.get(), size) != known->second)
      file.fail("is damaged: its part " + record + " is not what was written (CRC-32)",
                "copy or save it again");
  }
}

void check_archive(const ModuleFile& file, caffe2::serialize::PyTorchStreamReader& reader) {
  if (!reader.hasRecord("constants.pkl")) {
    file.fail(reader.hasRecord("archive_format") ? "is a package of torch.export, and no TorchScript"
                                                 : "holds weights or another archive, and no TorchScript",
              kSave);
  }
  for (const std::string& record : reader.getAllRecords()) {
    if (!record.ends_with(".py")) continue;
    if (reader.getRecordSize(record) > kMostCode)
      file.fail("its code " + record + " is larger than any code", kSave);
    const auto [data, size] = reader.getRecord(record);
    const std::string problem = forbidden_in({static_cast<const char*>(data.get()), size});
    if (!problem.empty()) file.fail("its code " + record + " " + problem, "leave that out of the model");
  }
}

// What a pickle says of a tensor need not fit the memory that it has.
void check_tensors(const ModuleFile& file, const torch::jit::Module& module) {
  c10::IValue(module._ivalue()).visit([&](const c10::IValue& value) {
    if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) return false;
    const at::Tensor& tensor = value.toTensor();
    std::int64_t last = tensor.storage_offset();
    bool sound = last >= 0;
    for (std::int64_t dim = 0; dim < tensor.dim() && tensor.numel() > 0; ++dim) {
      std::int64_t span = 0;
      sound = sound && tensor.stride(dim) >= 0 &&
              !__builtin_mul_overflow(tensor.size(dim) - 1, tensor.stride(dim), &span) &&
              !__builtin_add_overflow(last, span, &last);
    }
    const auto there = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.element_size());
    if (!sound || (tensor.numel() > 0 && last >= there))
      file.fail("a tensor in it reaches beyond its memory", "save the model again");
    return false;
  });
}

}  // namespace

ModuleFile::ModuleFile(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (!fs::is_regular_file(path_, error)) fail("is no file that can be read", "put the model there");
  if (fs::file_size(path_) > most_bytes())
    fail("is larger than a quarter of this machine's memory: FP32, FP64 and copies would not fit", kSave);
  std::ifstream in(path_, std::ios::binary);
  std::string bytes(fs::file_size(path_), '\0');
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    fail("cannot be read", "check the file and its permissions");
  bytes_ = std::make_shared<const std::string>(std::move(bytes));
  try {
    caffe2::serialize::PyTorchStreamReader reader(std::make_shared<Bytes>(bytes_));
    check_archive(*this, reader);
    check_content(*this, *bytes_, reader);
  } catch (const c10::Error& problem) {
    fail("is no zip archive as TorchScript files are: " + message(problem), kSave);
  }
}

torch::jit::Module ModuleFile::load() const {
  try {
    torch::jit::Module module = torch::jit::load(std::make_shared<Bytes>(bytes_), at::Device(at::kCPU));
    check_tensors(*this, module);
    return module;
  } catch (const results::Error&) {
    throw;
  } catch (const std::exception& problem) {
    const std::string text = message(problem);
    constexpr std::string_view kUnknown = "Unknown builtin op: ";
    const auto found = text.find(kUnknown);
    if (found != std::string::npos) {
      std::string name = text.substr(found + kUnknown.size());
      while (name.ends_with('.') || name.ends_with(' ')) name.pop_back();
      fail("needs the operator " + name + ", which is not registered",
           "name the library that registers it with --load-library");
    }
    fail("cannot be loaded: " + text, kSave);
  }
}

void ModuleFile::fail(const std::string& problem, const std::string& action) const {
  throw results::FileError(path_.string(), problem, action);
}

}  // namespace ampgate::cases::files
