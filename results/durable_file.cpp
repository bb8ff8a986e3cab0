#include "results/durable_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "results/error.h"

namespace ampgate::results {

void fail_to_write(const std::string& what, const std::filesystem::path& path) {
  const int error = errno;
  throw EnvironmentError(
      what + " " + path.string() + ": " + strerror(error),
      error == ENOSPC ? "free some space, or choose another --archive" : "choose another --archive");
}

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write("cannot write", path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void sync_file(int descriptor, const std::filesystem::path& path) {
  if (fsync(descriptor) != 0) fail_to_write("cannot sync", path);
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a file system without this: what was renamed stands
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  errno = error;
  if (error != 0 && error != EINVAL) fail_to_write("cannot sync", folder);  // EINVAL: without this, again
}

NewFile::NewFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_to_write("cannot write", path_);
}

NewFile::~NewFile() { close(descriptor_); }

void write_in_place(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path aside = path;
  aside += "." + std::to_string(::getpid());
  try {
    NewFile file(aside);
    file.write(bytes);
    file.sync();
    std::filesystem::rename(aside, path);
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code ignored;
    std::filesystem::remove(aside, ignored);
    throw EnvironmentError(path.string() + ": cannot be written: " + error.code().message(),
                           "choose another place");
  } catch (const EnvironmentError&) {
    std::error_code ignored;
    std::filesystem::remove(aside, ignored);
    throw;
  }
}

}  // namespace ampgate::results
