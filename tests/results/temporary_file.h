// A file of given text that lives as long as the object.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ampgate::results {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor == -1 ||
        write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("cannot make a temporary file");
    }
    close(descriptor);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/ampgate-test-XXXXXX";
};

}  // namespace ampgate::results
