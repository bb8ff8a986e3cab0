#include "validate/failure.h"

#include <exception>
#include <new>
#include <string_view>

#include "results/error.h"

namespace ampgate::validate {

using results::Verdict;

namespace {

std::string too_large(const c10::Error& error) {
  return std::string("it needs more memory than there is: ") + error.what_without_backtrace();
}

// Many operators check their types by hand.
// LibTorch's allocator of the host has no error of its own.
bool lacks_memory(const c10::Error& error) {
  return std::string_view(error.what_without_backtrace()).find("allocate memory") != std::string_view::npos;
}

bool refuses_type(std::string_view text) {
  return text.find("ot supported") != std::string_view::npos ||
         text.find("ot implemented for") != std::string_view::npos ||
         text.find("scalar type") != std::string_view::npos || text.find("dtype") != std::string_view::npos ||
         text.find("could not create a primitive") != std::string_view::npos;  // oneDNN's LSTM in FP16
}

}  // namespace

bool is_refusal(const c10::Error& error) {
  return dynamic_cast<const c10::NotImplementedError*>(&error) == nullptr &&
         dynamic_cast<const c10::OutOfMemoryError*>(&error) == nullptr && !lacks_memory(error) &&
         !refuses_type(error.what_without_backtrace());
}

std::optional<Failure> catch_failure(const std::function<void()>& function) {
  try {
    function();
    return {};
  } catch (const results::Error&) {
    throw;  // files and the environment are no trial's failure
  } catch (const std::bad_alloc&) {
    return Failure{Verdict::kUnsupported, "it needs more memory than there is"};
  } catch (const c10::OutOfMemoryError& error) {
    return Failure{Verdict::kUnsupported, too_large(error)};
  } catch (const c10::NotImplementedError& error) {
    return Failure{Verdict::kUnsupported, error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    if (lacks_memory(error)) return Failure{Verdict::kUnsupported, too_large(error)};
    if (refuses_type(error.what_without_backtrace()))
      return Failure{Verdict::kUnsupported, error.what_without_backtrace()};
    return Failure{Verdict::kCrashed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    // oneDNN's errors come through TorchScript as they are.
    return Failure{refuses_type(error.what()) ? Verdict::kUnsupported : Verdict::kCrashed, error.what()};
  } catch (...) {
    return Failure{Verdict::kCrashed, "an exception of an unknown type"};
  }
}

}  // namespace ampgate::validate
