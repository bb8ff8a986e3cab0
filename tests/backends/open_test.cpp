#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "backends/backend.h"
#include "backends/build_id.h"
#include "backends/modules.h"

namespace ampgate::backends {
namespace {

namespace fs = std::filesystem;

std::string error_of(const std::string& name) {
  try {
    open(name);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

// AMPGATE_MODULE_DIR for the life of the object.
class ModuleFolder {
 public:
  explicit ModuleFolder(const fs::path& folder) {
    if (const char* value = std::getenv(kName)) previous_ = value;
    setenv(kName, folder.c_str(), 1);
  }
  ~ModuleFolder() {
    if (previous_) {
      setenv(kName, previous_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  ModuleFolder(const ModuleFolder&) = delete;
  ModuleFolder& operator=(const ModuleFolder&) = delete;

 private:
  static constexpr const char* kName = "AMPGATE_MODULE_DIR";
  std::optional<std::string> previous_;
};

TEST(Open, RefusesNamesThatAreNoDevice) {
  for (const char* name :
       {"", "cpu:0", "cuda", "cuda:", "cuda:-1", "cuda:x", "cuda:0x", "cuda:99999", "xpu:0", "gpu"}) {
    EXPECT_NE(error_of(name).find("use cpu, cuda:N or rocm:N"), std::string::npos)
        << name << ": " << error_of(name);
  }
}

TEST(Open, SaysThatAModuleIsMissing) {
  const ModuleFolder empty("/nonexistent");
  EXPECT_NE(error_of("rocm:0").find("no rocm module (/nonexistent/libampgate-rocm.so)"), std::string::npos);
  EXPECT_NE(error_of("rocm:0").find("-DAMPGATE_ROCM=ON"), std::string::npos);
}

// A folder of its own with a file named like the ROCm module.
class FakeModule {
 public:
  FakeModule() : folder_(fs::temp_directory_path() / ("ampgate-open-test-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~FakeModule() { fs::remove_all(folder_); }
  FakeModule(const FakeModule&) = delete;
  FakeModule& operator=(const FakeModule&) = delete;
  const fs::path& folder() const { return folder_; }
  fs::path file() const { return folder_ / "libampgate-rocm.so"; }

 private:
  fs::path folder_;
};

TEST(Open, SaysThatAModuleCannotBeLoaded) {
  const FakeModule fake;
  std::ofstream(fake.file()) << "no library";
  const ModuleFolder modules(fake.folder());
  EXPECT_NE(error_of("rocm:0").find("cannot be loaded"), std::string::npos) << error_of("rocm:0");
}

TEST(Open, RefusesAModuleOfAnotherBuild) {
  const FakeModule fake;
  Dl_info math{};  // any library without our symbol
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &math), 0);
  fs::create_symlink(fs::canonical(math.dli_fname), fake.file());
  const ModuleFolder modules(fake.folder());
  EXPECT_NE(error_of("rocm:0").find("of another build"), std::string::npos) << error_of("rocm:0");
}

// The real module, where it was built. In a process of its own, since it loads LibTorch's CUDA libraries.
TEST(Open, CudaModuleLoadsAndFindsDevicesOrSaysWhyNot) {
  const fs::path root = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "libexec/ampgate";
  fs::path folder;
  if (fs::exists(root)) {
    for (const auto& entry : fs::directory_iterator(root)) {
      if (fs::exists(entry.path() / "libampgate-cuda.so")) folder = entry.path();
    }
  }
  if (folder.empty()) GTEST_SKIP() << "no CUDA module in " << root;
  const auto answer = [&] {
    const ModuleFolder modules(folder);
    const std::string error = error_of("cuda:0");
    if (error.find("no device, or no driver") != std::string::npos) return 0;
    std::cerr << error;
    if (!error.empty()) return 1;
    return error_of("cuda:1000").find("there are only") == std::string::npos ? 2 : 0;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(answer()), testing::ExitedWithCode(0), "");
}

TEST(Probe, NamesEveryBackendAndNeverThrows) {
  const std::vector<Found> all = probe();
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all[0].name, "cpu");
  EXPECT_TRUE(all[0].identity.has_value());
  bool cuda = false;
  bool rocm = false;
  for (const Found& found : all) {
    EXPECT_EQ(found.identity.has_value(), found.problem.empty()) << found.name;
    cuda = cuda || found.name == "cuda:0";
    rocm = rocm || found.name == "rocm:0";
  }
  EXPECT_TRUE(cuda);
  EXPECT_TRUE(rocm);
}

TEST(Cpu, SaysWhoItIs) {
  const Identity identity = open("cpu")->identity();
  EXPECT_EQ(identity.uuid.size(), 4 + 32U);
  EXPECT_EQ(identity.uuid, open("cpu")->identity().uuid);
  EXPECT_GT(identity.memory_bytes, std::int64_t{1} << 28);
  std::ifstream file("/etc/machine-id");
  std::string machine;
  file >> machine;
  if (machine.empty()) return;
  for (const auto& [name, value] : identity.fields) {
    EXPECT_EQ(value.find(machine), std::string::npos) << name;
  }
  EXPECT_EQ(identity.uuid.find(machine), std::string::npos);
}

TEST(Cpu, SupportsSixteenBitButNotTf32) {
  const auto cpu = open("cpu");
  for (const c10::ScalarType type : {c10::kFloat, c10::kDouble, c10::kHalf, c10::kBFloat16}) {
    EXPECT_EQ(cpu->unsupported(type, false), "");
  }
  EXPECT_NE(cpu->unsupported(c10::kFloat, true), "");
  EXPECT_NE(cpu->unsupported(c10::kLong, false), "");
}

TEST(Cpu, TimerMeasuresSleep) {
  const auto timer = open("cpu")->timer();
  timer->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timer->stop();
  EXPECT_GE(timer->elapsed_ns(), 20'000'000);
  EXPECT_LT(timer->elapsed_ns(), 2'000'000'000);
}

TEST(BuildId, IsASha256) {
  EXPECT_EQ(std::string(build_id()).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(std::string(build_id()).size(), 64U);
  EXPECT_NE(std::string(build_flags()).find("-fopenmp"), std::string::npos);
  EXPECT_EQ(module_abi().find(build_id()), 0U);
}

}  // namespace
}  // namespace ampgate::backends
