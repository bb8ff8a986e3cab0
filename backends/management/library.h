// A shared library that is opened by name, and functions in it that may be missing.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

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

}  // namespace ampgate::backends::management
