#include "validate/failure.h"

#include <c10/util/Exception.h>

#include <exception>

#include "results/error.h"

namespace ampgate::validate {

using results::Verdict;

std::optional<Failure> catch_failure(const std::function<void()>& function) {
  try {
    function();
    return {};
  } catch (const results::Error&) {
    throw;  // files and the environment are no trial's failure
  } catch (const c10::NotImplementedError& error) {
    return Failure{Verdict::kUnsupported, error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    return Failure{Verdict::kCrashed, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Failure{Verdict::kCrashed, error.what()};
  } catch (...) {
    return Failure{Verdict::kCrashed, "an exception of an unknown type"};
  }
}

}  // namespace ampgate::validate
