// Writing that a kill or a power cut does not undo. Every error is an EnvironmentError that names the path
// and the system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ampgate::results {

// Throws for the errno of the call that has just failed.
[[noreturn]] void fail_to_write(const std::string& what, const std::filesystem::path& path);

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path);

// Until the bytes, or a folder's names, are on the disk.
void sync_file(int descriptor, const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& folder);

// A file made anew; what was there is gone.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }
  void sync() { sync_file(descriptor_, path_); }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Written aside, synced and renamed: whoever looks finds the old file or the whole new one.
void write_in_place(const std::filesystem::path& path, std::string_view bytes);

}  // namespace ampgate::results
