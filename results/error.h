// One hierarchy of errors; each kind has one exit code. The text says what was wrong and where, the action
// what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace ampgate::results {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,       // a required trial did not open the gate, or was not measured
  kUsage = 2,        // bad usage, or a file that cannot be read or trusted
  kEnvironment = 3,  // no such device, worker missing or of another build, archive not writable, disk full
  kSlower = 4,
  kIncomparable = 5,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what, std::string action)
      : std::runtime_error(what), code_(code), action_(std::move(action)) {}
  ExitCode code() const { return code_; }
  const std::string& action() const { return action_; }

 private:
  ExitCode code_;
  std::string action_;
};

class UsageError : public Error {
 public:
  UsageError(const std::string& what, std::string action)
      : Error(ExitCode::kUsage, what, std::move(action)) {}
};

// `where` is a file, with a line or JSON pointer where there is one.
class FileError : public Error {
 public:
  FileError(const std::string& where, const std::string& what, std::string action)
      : Error(ExitCode::kUsage, where + ": " + what, std::move(action)) {}
};

class EnvironmentError : public Error {
 public:
  EnvironmentError(const std::string& what, std::string action)
      : Error(ExitCode::kEnvironment, what, std::move(action)) {}
};

class GateError : public Error {
 public:
  GateError(const std::string& what, std::string action)
      : Error(ExitCode::kFailed, what, std::move(action)) {}
};

}  // namespace ampgate::results
