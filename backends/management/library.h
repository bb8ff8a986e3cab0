// A shared library that is opened by name, and functions in it that may be missing.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <string>

#include "backends/backend.h"

namespace ampgate::backends::management {

class Library {
 public:
  // Throws DeviceError with the loader's reason.
  explicit Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw DeviceError("the driver's library " + name + " cannot be loaded: " + std::string(dlerror()));
  }
  // Never closed: drivers start threads and keep state for the life of the process.
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Null where this version of the library does not have it.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

// "not told: <why>", in the place of a value.
inline std::string not_told(const std::string& why) { return std::string("not told: ").append(why); }

// Why a value is not told where the library lacks the function.
inline std::string lacks(const char* library, const char* function) {
  std::string text = "this ";
  text.append(library).append(" has no ").append(function);
  return text;
}

// Questions to a library about one card, whose functions take the card first and return 0 where all is well.
template <typename Handle>
class Questions {
 public:
  Questions(const char* name, const std::string& library) : library_(library), name_(name) {}
  virtual ~Questions() = default;

 protected:
  // The library's words for a code.
  virtual std::string error(int code) const = 0;

  // Calls function(card, arguments...); the reason where it fails.
  template <typename... Arguments>
  std::string failure(const char* function, Arguments... arguments) const {
    const auto found = library_.find<int(Handle, Arguments...)>(function);
    if (found == nullptr) return lacks(name_, function);
    const int code = found(card_, arguments...);
    return code == 0 ? "" : error(code);
  }

  template <typename... Arguments>
  bool ask(const char* function, Arguments... arguments) const {
    return failure(function, arguments...).empty();
  }

  std::string text(const char* function) const {
    std::array<char, 96> buffer{};
    const auto why = failure(function, buffer.data(), static_cast<std::uint32_t>(buffer.size()));
    return why.empty() ? buffer.data() : not_told(why);
  }

  const Library library_;
  Handle card_{};

 private:
  const char* name_;
};

}  // namespace ampgate::backends::management
