#include "results/replacement_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "results/durable_file.h"
#include "results/error.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAside = ".aside-";
constexpr const char* kOld = ".old";
constexpr int kMostAside = 1000;

[[noreturn]] void fail(const std::string& what, const fs::path& path, const std::error_code& error) {
  errno = error.value();
  fail_to_write(what, path);
}

// Without links and without a slash at the end.
fs::path real_place(const fs::path& place) {
  std::error_code error;
  fs::path real = fs::absolute(place, error);
  if (!error) real = fs::weakly_canonical(real, error);
  if (error) fail("cannot write", place, error);
  return real.has_filename() ? real : real.parent_path();
}

// The folder, locked; -1 when it is not there, no folder, or in use.
int lock_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  return -1;
}

}  // namespace

ReplacementFolder::ReplacementFolder(const fs::path& place, std::vector<std::string> names)
    : place_(real_place(place)), names_(std::move(names)) {
  refuse_other_content();
  std::error_code error;
  fs::create_directories(place_.parent_path(), error);
  if (error) fail("cannot make the folder", place_.parent_path(), error);
  make_aside();
}

ReplacementFolder::~ReplacementFolder() {
  remove(aside_);
  if (lock_ >= 0) close(lock_);
}

void ReplacementFolder::refuse_other_content() const {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(place_, error);
  if (status.type() == fs::file_type::not_found) return;
  if (error) fail("cannot write", place_, error);
  if (status.type() != fs::file_type::directory)
    throw FileError(place_.string(), "is there and is no folder", "move it away, or choose another name");
  fs::directory_iterator entries(place_, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (std::find(names_.begin(), names_.end(), name) == names_.end() || entries->is_directory(error)) {
      throw FileError(place_.string(), "holds '" + name + "', which replacing it would delete",
                      "move that away, or choose another name");
    }
  }
  if (error) fail("cannot read", place_, error);
}

void ReplacementFolder::make_aside() {
  for (int number = 0; number < kMostAside; ++number) {
    aside_ = place_.string() + kAside + std::to_string(number);
    if (mkdir(aside_.c_str(), 0777) == 0) {
      lock_ = lock_folder(aside_);  // a file system without locks: nobody removes what is left there, then
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_to_write("cannot make the folder", aside_);
}

void ReplacementFolder::put_in_place() {
  sync_folder(aside_);
  exchange();
  sync_folder(place_.parent_path());
  remove(aside_);
  remove_leftovers();
}

void ReplacementFolder::exchange() const {
  std::error_code error;
  if (!fs::exists(place_, error)) {
    if (rename(aside_.c_str(), place_.c_str()) != 0) fail_to_write("cannot write", place_);
    return;
  }
  if (renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail_to_write("cannot write", place_);
  rename_twice();
}

void ReplacementFolder::rename_twice() const {
  const fs::path old = aside_.string() + kOld;
  if (rename(place_.c_str(), old.c_str()) != 0) fail_to_write("cannot write", place_);
  if (rename(aside_.c_str(), place_.c_str()) != 0) {
    const std::error_code error(errno, std::generic_category());
    const bool back = rename(old.c_str(), place_.c_str()) == 0;
    fail(back ? "cannot write" : "what was there is now " + old.string() + "; cannot write", place_, error);
  }
  remove(old);
}

// Whatever cannot be removed stays for the next writer.
void ReplacementFolder::remove(const fs::path& folder) const {
  for (const std::string& name : names_) unlink((folder / name).c_str());
  rmdir(folder.c_str());
}

void ReplacementFolder::remove_leftovers() const {
  const std::string beginning = place_.filename().string() + kAside;
  std::error_code error;
  std::vector<fs::path> left;
  fs::directory_iterator entries(place_.parent_path(), error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().filename().string().starts_with(beginning)) left.push_back(entries->path());
  }
  for (const fs::path& folder : left) {
    const int lock = lock_folder(folder);
    if (lock < 0) continue;
    remove(folder);
    close(lock);
  }
}

}  // namespace ampgate::results
