#include "results/checkpoint_place.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/results/error_of.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

TEST(CheckpointPlace, LiesBesideTheRecord) {
  EXPECT_EQ(checkpoint_root("a/cpu/20260101T000000Z-0a.json"), "a/cpu/20260101T000000Z-0a.checkpoints");
  EXPECT_EQ(checkpoint_place("train/batch16/autocast-fp16", "start"), "train__batch16__autocast-fp16/start");
}

TEST(CheckpointPlace, NamesWhatIsThere) {
  const fs::path root = fs::path(testing::TempDir()) / "run.checkpoints";
  const fs::path folder = root / "train__batch16__fp32" / "start";
  fs::create_directories(folder);
  const std::string text = seal({{"ampgate_checkpoint", 1}, {"digest", ""}});
  std::ofstream(folder / kCheckpointDocument) << text;
  EXPECT_EQ(kept_checkpoint(root, "train/batch16/fp32", "start"),
            Json({{"folder", "run.checkpoints/train__batch16__fp32/start"},
                  {"digest", Json::parse(text).at("digest")}}));
  EXPECT_NE(error_of([&] { kept_checkpoint(root, "train/batch16/fp32", "before-bad"); }), "");
  fs::remove_all(root);
}

}  // namespace
}  // namespace ampgate::results
