// The C library's functions, defined here: the linker prefers the program's own. They make the system call,
// or fail as it would.
#include "tests/cases/system_faults.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <utility>

namespace ampgate {
namespace {

thread_local SystemFaults* active = nullptr;

bool fails(const char* call) {
  const int error = active == nullptr ? 0 : active->ask(call);
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

SystemFaults::SystemFaults(Fault fault) : fault_(std::move(fault)) { active = this; }
SystemFaults::~SystemFaults() { active = nullptr; }

int SystemFaults::ask(const char* call) {
  if (asking_) return 0;
  asking_ = true;
  const int error = fault_(call, calls_++);
  asking_ = false;
  return error;
}

}  // namespace ampgate

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  return ampgate::fails("write") ? -1 : syscall(SYS_write, descriptor, bytes, count);
}

int fsync(int descriptor) {
  return ampgate::fails("fsync") ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY && ampgate::fails("open")) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int mkdir(const char* path, mode_t mode) noexcept {
  return ampgate::fails("mkdir") ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int rename(const char* from, const char* to) noexcept {
  return ampgate::fails("rename") ? -1
                                  : static_cast<int>(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (ampgate::fails("renameat2")) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) noexcept {
  return ampgate::fails("unlink") ? -1 : static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rmdir(const char* path) noexcept {
  return ampgate::fails("rmdir") ? -1 : static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

}  // extern "C"
