#include "cases/files/library.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cases/files/find_operator.h"
#include "cases/files/package.h"
#include "results/error.h"

namespace ampgate::cases::files {
namespace {

namespace fs = std::filesystem;
using results::FileError;

// Operators by name, each with all its kernels in the dispatcher's own words.
using Operators = std::map<std::string, std::string>;

Operators registered() {
  Operators operators;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (const auto op = dispatcher.findSchema(name)) operators[full_name(*op)] = op->dumpState();
  }
  return operators;
}

// LibTorch's, as they were before any library.
std::optional<Operators>& own() {
  static std::optional<Operators> operators;
  return operators;
}

std::set<fs::path> loaded_objects() {
  std::set<fs::path> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        std::error_code error;
        const fs::path path = fs::canonical(info->dlpi_name, error);
        if (!error) static_cast<std::set<fs::path>*>(result)->insert(path);
        return 0;
      },
      &paths);
  return paths;
}

std::string libtorch() {
  return "LibTorch " + std::to_string(TORCH_VERSION_MAJOR) + '.' + std::to_string(TORCH_VERSION_MINOR) + '.' +
         std::to_string(TORCH_VERSION_PATCH);
}

// The folder of LibTorch's libraries.
fs::path libtorch_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&c10::Dispatcher::realSingleton), &info) == 0) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

bool is_below(const fs::path& path, const fs::path& folder) {
  if (folder.empty()) return false;
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// Those of a vendor's packages that stand beside LibTorch in Python's folder are LibTorch's as well.
std::vector<fs::path> companions(const std::set<fs::path>& before, const fs::path& library) {
  const fs::path torch = libtorch_folder().parent_path();
  const std::vector<fs::path> known{torch,       torch.parent_path() / "nvidia", "/lib", "/lib64", "/usr/lib",
                                    "/usr/lib64"};
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& path : loaded_objects()) {
    if (before.contains(path) || fs::equivalent(path, library, error)) continue;
    if (std::none_of(known.begin(), known.end(), [&](const auto& folder) { return is_below(path, folder); }))
      found.push_back(path);
  }
  return found;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

// dlerror's words, without the path that they begin with, and what to do about them.
[[noreturn]] void fail_to_load(const fs::path& path, std::string words) {
  const std::string prefix = fs::absolute(path).string() + ": ";
  if (words.starts_with(prefix)) words.erase(0, prefix.size());
  const std::string build = "build it against " + libtorch() + ", which this worker has";
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (const auto at = words.find(kUndefined); at != std::string::npos) {
    std::string symbol = words.substr(at + kUndefined.size());
    symbol = symbol.substr(0, symbol.find_first_of(", "));
    const bool python = symbol.starts_with("Py") || symbol.starts_with("_Py") ||
                        demangled(symbol).find("THPVariable") != std::string::npos;
    if (python) {
      throw FileError(
          path.string(), "is an extension of Python, which no worker runs: it needs " + symbol,
          "build its operators as a library of their own, with TORCH_LIBRARY and without pybind11");
    }
    throw FileError(
        path.string(),
        "is for another LibTorch, or lacks a library that it was linked without: nothing here has " +
            demangled(symbol),
        build);
  }
  if (words.find("cannot open shared object file") != std::string::npos) {
    throw FileError(path.string(), "cannot be loaded: " + words,
                    "install the library that it needs, or name its folder in LD_LIBRARY_PATH; for one of "
                    "LibTorch's, " +
                        build);
  }
  throw FileError(path.string(), "cannot be loaded: " + words,
                  "give a shared library for this machine's processor and C library; " + build);
}

// Of a file that ends too soon the loader maps what is not there, and that is the process's end.
void check_whole(const fs::path& path) {
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return;  // the loader says what it is
  const auto end = header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
  const auto size = fs::file_size(path);
  if (end <= size) return;
  throw FileError(path.string(),
                  "is cut short: it should have " + std::to_string(end) + " bytes at least, and has " +
                      std::to_string(size),
                  "copy or build it again");
}

std::string message_of(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

std::string why_failed(const std::string& message) { return "fails while it is loaded: " + message; }

constexpr auto kFixRegistration =
    "register each operator once, in one library, under a name that nothing else has";

// What initialisation throws where nothing can catch it must not end as a bare abort.
class LoadingScope {
 public:
  explicit LoadingScope(const fs::path& path) : before_(std::get_terminate()) {
    path_ = path.string();
    std::set_terminate([] {
      const auto problem = std::current_exception();
      std::string words = why_failed(problem ? message_of(problem) : "it gives up");
      std::replace(words.begin(), words.end(), '\n', ' ');
      // One line that begins with the program's name: the driver quotes it.
      std::cerr << program_invocation_short_name << ": " << path_ << ' ' << words << std::endl;
      std::_Exit(static_cast<int>(results::ExitCode::kUsage));
    });
  }
  ~LoadingScope() { std::set_terminate(before_); }
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  std::terminate_handler before_;
  static inline std::string path_;
};

// Null: dlerror() says why.
void* opened(const fs::path& path) {
  const LoadingScope scope(path);
  try {
    // Absolute: a bare name would be looked for elsewhere. Now: a symbol that is missing shows here, not in
    // the middle of a run. Local: what the library defines replaces nothing of anyone else's.
    return dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (...) {
    throw FileError(path.string(), why_failed(message_of(std::current_exception())), kFixRegistration);
  }
}

// LibTorch's CMake package links with libtorch.so, which this worker does without, and which brings kernels
// of LibTorch's for other devices: they are not the user's.
void load_the_rest_of_libtorch() {
  const Operators before = registered();
  load_libtorch();
  for (auto& [name, kernels] : registered()) {
    const auto known = before.find(name);
    if (known == before.end() || known->second != kernels) own()->insert_or_assign(name, kernels);
  }
}

// The operators and objects as they were just before the library came.
struct Before {
  Operators operators = registered();
  std::set<fs::path> objects = loaded_objects();
};

Before open(const fs::path& path) {
  auto before = std::make_unique<Before>();
  void* handle = opened(path);
  std::string problem = handle == nullptr ? dlerror() : "";
  if (problem.find("libtorch.so: cannot open shared object file") != std::string::npos) {
    load_the_rest_of_libtorch();
    before = std::make_unique<Before>();
    handle = opened(path);
    problem = handle == nullptr ? dlerror() : "";
  }
  if (handle == nullptr) fail_to_load(path, problem);
  // Compiled with -ffast-math it switches this thread to flushing subnormals, for everybody's numbers.
  at::globalContext().setFlushDenormal(false);
  return std::move(*before);
}

}  // namespace

LoadedLibrary load_library(const fs::path& path) {
  if (!own()) own() = registered();
  check_whole(path);
  const Before before = open(path);

  LoadedLibrary loaded;
  std::string replaced;
  for (const auto& [name, kernels] : registered()) {
    const auto found = before.operators.find(name);
    if (found != before.operators.end() && found->second == kernels) continue;
    loaded.operators.push_back(name);
    if (own()->contains(name)) replaced += (replaced.empty() ? "" : ", ") + name;
  }
  if (!replaced.empty()) {
    throw FileError(path.string(),
                    "has kernels for LibTorch's own " + replaced +
                        ": what is judged and what it is judged by would be the same",
                    "give them names of your own, in a namespace of your own");
  }
  if (loaded.operators.empty()) {
    throw FileError(path.string(), "registers no operator that LibTorch has not already",
                    "register them with TORCH_LIBRARY, against the LibTorch that this worker has (" +
                        libtorch() + " in " + libtorch_folder().string() + ")");
  }
  loaded.companions = companions(before.objects, path);
  return loaded;
}

bool is_foreign(const c10::OperatorHandle& op) { return own() && !own()->contains(full_name(op)); }

}  // namespace ampgate::cases::files
