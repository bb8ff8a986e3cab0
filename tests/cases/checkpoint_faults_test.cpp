// Every call that changes a file is let fail, and taken as the last one before a kill.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "cases/training/checkpoint.h"
#include "results/error.h"
#include "tests/cases/system_faults.h"
#include "tests/cases/temporary_folder.h"

namespace ampgate::cases {
namespace {

namespace fs = std::filesystem;

Checkpoint numbered(int number) {
  return {{{"a", at::full({5}, number, at::kFloat)}, {"b", at::full({3}, number, at::kLong)}},
          {{"iteration", number}}};
}

// -1 unless all of it is whole and of the same number.
int number_in(const fs::path& folder) {
  try {
    const Checkpoint found = read_checkpoint(folder);
    const int number = found.state.at("iteration").get<int>();
    EXPECT_TRUE(at::equal(found.tensors.at("a"), numbered(number).tensors.at("a")));
    EXPECT_TRUE(at::equal(found.tensors.at("b"), numbered(number).tensors.at("b")));
    return number;
  } catch (const results::FileError& error) {
    ADD_FAILURE() << error.what();
    return -1;
  }
}

bool same(const char* a, const char* b) { return std::string(a) == b; }

class CheckpointFaults : public ::testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / "start"; }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(temporary_.path()), {}); }

  int calls_of_a_write() const {
    SystemFaults faults([](const char*, int) { return 0; });
    write_checkpoint(folder(), numbered(1));
    return faults.calls();
  }

  TemporaryFolder temporary_;
};

TEST_F(CheckpointFaults, KilledBeforeAnyCallTheOldOrTheNewOneIsWhole) {
  write_checkpoint(folder(), numbered(1));
  bool new_one_seen = false;
  SystemFaults faults([&](const char* call, int) {
    const int number = number_in(folder());
    EXPECT_TRUE(number == 2 || (number == 1 && !new_one_seen)) << call;
    new_one_seen = number == 2;
    return 0;
  });
  write_checkpoint(folder(), numbered(2));
  EXPECT_GT(faults.calls(), 10);
  EXPECT_TRUE(new_one_seen);
  EXPECT_EQ(number_in(folder()), 2);
  EXPECT_EQ(entries(), 1);
}

TEST_F(CheckpointFaults, AFailingCallKeepsTheOldOneOrEndsWithTheNewOne) {
  const int calls = calls_of_a_write();
  for (const int error : {ENOSPC, EIO, EDQUOT, EROFS}) {
    for (int bad = 0; bad <= calls; ++bad) {
      write_checkpoint(folder(), numbered(1));
      std::string failed;
      bool refused = false;
      {
        SystemFaults faults([&](const char* call, int number) {
          if (number == bad) failed = call;
          return number == bad ? error : 0;
        });
        try {
          write_checkpoint(folder(), numbered(2));
        } catch (const results::EnvironmentError& problem) {
          refused = true;
          EXPECT_NE(std::string(problem.what()).find(temporary_.path().string()), std::string::npos);
          EXPECT_EQ(problem.code(), results::ExitCode::kEnvironment);
        }
      }
      const int number = number_in(folder());
      if (!refused) {
        EXPECT_EQ(number, 2) << failed << " " << error;
      }
      if (failed != "unlink" && failed != "rmdir") {
        EXPECT_EQ(entries(), 1) << failed << " " << error;
        EXPECT_EQ(refused, !failed.empty()) << failed << " " << error;
      }
    }
  }
}

TEST_F(CheckpointFaults, AFullDiskLeavesNothingWhereNothingWas) {
  SystemFaults faults([](const char* call, int) { return same(call, "write") ? ENOSPC : 0; });
  try {
    write_checkpoint(folder(), numbered(1));
    ADD_FAILURE() << "written to a full disk";
  } catch (const results::EnvironmentError& problem) {
    EXPECT_NE(std::string(problem.what()).find("No space left"), std::string::npos);
    EXPECT_NE(problem.action().find("free some space"), std::string::npos);
  }
  EXPECT_EQ(entries(), 0);
}

// A file system that cannot exchange names.
TEST_F(CheckpointFaults, WithoutExchangeTheOldOneIsWholeUnderOneOfTwoNames) {
  write_checkpoint(folder(), numbered(1));
  const fs::path old = folder().string() + ".aside-0.old";
  SystemFaults faults([&](const char* call, int) {
    EXPECT_GT(number_in(fs::exists(folder()) ? folder() : old), 0) << call;
    return same(call, "renameat2") ? EINVAL : 0;
  });
  write_checkpoint(folder(), numbered(2));
  EXPECT_EQ(number_in(folder()), 2);
  EXPECT_EQ(entries(), 1);
}

TEST_F(CheckpointFaults, WithoutExchangeAFailingRenameIsTakenBack) {
  write_checkpoint(folder(), numbered(1));
  int renames = 0;
  {
    SystemFaults faults([&](const char* call, int) {
      if (same(call, "rename") && ++renames == 2) return EIO;
      return same(call, "renameat2") ? ENOSYS : 0;
    });
    EXPECT_THROW(write_checkpoint(folder(), numbered(2)), results::EnvironmentError);
  }
  EXPECT_EQ(renames, 3);
  EXPECT_EQ(number_in(folder()), 1);
  EXPECT_EQ(entries(), 1);
}

TEST_F(CheckpointFaults, TheNextWriteRemovesWhatKilledOnesLeftButNotWhatIsInUse) {
  const fs::path dead = folder().string() + ".aside-0";
  const fs::path dead_old = folder().string() + ".aside-7.old";
  const fs::path used = folder().string() + ".aside-1";
  const fs::path other = folder().string() + ".aside-2";
  for (const fs::path& path : {dead, dead_old, used, other}) {
    fs::create_directory(path);
    std::ofstream(path / "tensors.safetensors") << "torn";
  }
  std::ofstream(other / "notes.txt") << "mine";
  const int lock = open(used.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  write_checkpoint(folder(), numbered(1));
  close(lock);
  EXPECT_EQ(number_in(folder()), 1);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(dead_old));
  EXPECT_TRUE(fs::exists(used / "tensors.safetensors"));
  EXPECT_TRUE(fs::exists(other / "notes.txt"));
}

}  // namespace
}  // namespace ampgate::cases
