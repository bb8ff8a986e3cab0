// Libraries that go wrong while they are loaded, or at the end; which of them is a macro.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#if defined(NEEDS_ANOTHER_LIBTORCH)
namespace c10 {
void from_another_version(int);
}
#elif defined(NEEDS_PYTHON)
extern "C" void PyErr_Clear();
#endif

namespace {

struct Loading {
  Loading() {
    std::puts("hello from a library");
#if defined(CRASHES)
    *static_cast<volatile int*>(nullptr) = 1;
#elif defined(THROWS)
    throw std::runtime_error("no licence");
#elif defined(EXITS)
    std::exit(0);
#elif defined(NEEDS_ANOTHER_LIBTORCH)
    c10::from_another_version(1);
#elif defined(NEEDS_PYTHON)
    PyErr_Clear();
#endif
  }
} loading;

}  // namespace
