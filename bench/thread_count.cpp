#include "bench/thread_count.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace ampgate::bench {

int thread_count() {
  int count = 0;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    // The name that c10's thread pool gives its threads.
    if (std::getline(file, name) && name.rfind("PTThreadPool", 0) != 0) ++count;
  }
  return count;
}

}  // namespace ampgate::bench
