#include "cases/training/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "cases/safetensors.h"
#include "results/error.h"
#include "results/sealed.h"
#include "results/sha256.h"
#include "tests/cases/temporary_folder.h"
#include "tests/results/error_of.h"

namespace ampgate::cases {
namespace {

namespace fs = std::filesystem;
using results::error_of;
using results::Json;

Checkpoint sample() {
  return {{{"weights/a", at::tensor({0x7f800001, 0x7fc12345, 1}, at::kInt).view(at::kFloat)},
           {"weights/b", at::tensor({-0.0f, 65504.0f}).to(at::kHalf)},
           {"step", at::scalar_tensor(3, at::kLong)},
           {"generator", at::arange(16, at::kByte)}},
          {{"precision", "autocast-fp16"},
           {"regions", {"encoder.0"}},
           {"iteration", 41},
           {"learning_rate", 0.1},
           {"seed", std::uint64_t{18446744073709551615U}},
           {"scaler", {{"scale", 0x1p-149}, {"growth_tracker", 7}}},
           {"loss", "nan"}}};
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

class CheckpointFolder : public ::testing::Test {
 protected:
  void SetUp() override { write_checkpoint(folder(), sample()); }

  fs::path folder() const { return temporary_.path() / "start"; }
  fs::path document() const { return folder() / "checkpoint.json"; }
  fs::path tensors() const { return folder() / "tensors.safetensors"; }
  std::string problem() const {
    try {
      read_checkpoint(folder());
    } catch (const results::FileError& error) {
      EXPECT_FALSE(error.action().empty());
      return error.what();
    }
    return "";
  }
  void expect_problem(const fs::path& file, const std::string& what) const {
    const std::string found = problem();
    EXPECT_TRUE(found.starts_with(file.string())) << found;
    EXPECT_NE(found.find(what), std::string::npos) << found;
  }
  // Both files fit their digests.
  void write_whole(const std::string& tensor_bytes, const Json& names) const {
    write_text(tensors(), tensor_bytes);
    write_text(document(), results::seal({{"ampgate_checkpoint", 1},
                                          {"digest", ""},
                                          {"tensors",
                                           {{"bytes", tensor_bytes.size()},
                                            {"sha256", results::sha256_hex(tensor_bytes)},
                                            {"names", names}}},
                                          {"state", Json::object()}}));
  }

  TemporaryFolder temporary_;
};

TEST_F(CheckpointFolder, ComesBackBitForBit) {
  const Checkpoint back = read_checkpoint(folder());
  const Checkpoint original = sample();
  EXPECT_EQ(back.state, original.state);
  EXPECT_EQ(back.state.at("scaler").at("scale").get<double>(), 0x1p-149);
  ASSERT_EQ(back.tensors.size(), original.tensors.size());
  for (const auto& [name, tensor] : original.tensors) {
    const at::Tensor& found = back.tensors.at(name);
    EXPECT_EQ(found.sizes(), tensor.sizes()) << name;
    EXPECT_EQ(found.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(std::memcmp(found.const_data_ptr(), tensor.const_data_ptr(), tensor.nbytes()), 0) << name;
  }
}

TEST_F(CheckpointFolder, WritesTheSameBytesAgain) {
  write_checkpoint(temporary_.path() / "again", read_checkpoint(folder()));
  for (const char* name : {"checkpoint.json", "tensors.safetensors"})
    EXPECT_EQ(text_of(folder() / name), text_of(temporary_.path() / "again" / name));
}

TEST_F(CheckpointFolder, IsTheOneThatIsAskedFor) {
  const std::string digest = write_checkpoint(folder(), sample());
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(read_checkpoint(folder(), digest).state, sample().state);
  Checkpoint other = sample();
  other.tensors.at("step").add_(1);
  const std::string others = write_checkpoint(folder(), other);
  EXPECT_NE(others, digest);
  try {
    read_checkpoint(folder(), digest);
    ADD_FAILURE() << "another checkpoint was taken";
  } catch (const results::FileError& error) {
    const std::string said = error.what();
    for (const auto& word : {document().string(), digest, others})
      EXPECT_NE(said.find(word), std::string::npos) << said;
  }
}

TEST_F(CheckpointFolder, MayBeEmptyOfTensors) {
  write_checkpoint(folder(), {{}, Json::object()});
  EXPECT_TRUE(read_checkpoint(folder()).tensors.empty());
}

TEST_F(CheckpointFolder, NoByteMayBeAltered) {
  for (const fs::path& file : {document(), tensors()}) {
    const std::string good = text_of(file);
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      write_text(file, bad);
      EXPECT_TRUE(problem().starts_with(file.string())) << file << " at " << at;
    }
    write_text(file, good);
  }
  EXPECT_EQ(problem(), "");
}

TEST_F(CheckpointFolder, NoByteMayBeMissingOrAdded) {
  for (const fs::path& file : {document(), tensors()}) {
    const std::string good = text_of(file);
    for (std::size_t length = 0; length < good.size(); ++length) {
      write_text(file, good.substr(0, length));
      EXPECT_NE(problem(), "") << file << " cut to " << length;
    }
    write_text(file, good + "x");
    EXPECT_NE(problem(), "");
    write_text(file, good);
  }
}

TEST_F(CheckpointFolder, NamesWhatIsNotThere) {
  fs::remove(tensors());
  expect_problem(tensors(), "No such file");
  fs::create_directory(tensors());
  expect_problem(tensors(), "cannot be read");
  fs::remove(document());
  expect_problem(document(), "No such file");
  fs::remove_all(folder());
  expect_problem(folder(), "No such file");
  write_text(folder(), "{}");
  expect_problem(folder(), "not a folder");
}

TEST_F(CheckpointFolder, EndsLoopsOfLinks) {
  fs::remove(tensors());
  fs::create_symlink(tensors(), tensors());
  expect_problem(tensors(), "Too many levels");
  fs::remove(document());
  fs::create_symlink(document(), document());
  expect_problem(document(), "Too many levels");
  fs::remove_all(folder());
  fs::create_symlink(folder(), folder());
  expect_problem(folder(), "Too many levels");
  EXPECT_THROW(write_checkpoint(folder(), sample()), results::EnvironmentError);
  EXPECT_THROW(write_checkpoint(folder() / "inside", sample()), results::EnvironmentError);
}

TEST_F(CheckpointFolder, TellsForeignFilesAndNewerVersions) {
  const std::string good = text_of(document());
  write_text(document(), R"({"scale": 65536})");
  expect_problem(document(), "not a checkpoint");
  write_text(document(), "[]");
  expect_problem(document(), "JSON object");
  write_text(document(), results::seal({{"ampgate_record", 1}, {"digest", ""}}));
  expect_problem(document(), "not a checkpoint");
  Json newer = Json::parse(good);
  newer["ampgate_checkpoint"] = 2;
  write_text(document(), results::seal(newer));
  expect_problem(document(), "version 2, which is newer; this ampgate reads version 1");
  write_text(document(), good);
  write_checkpoint(temporary_.path() / "other", {{{"a", at::zeros({1})}}, Json::object()});
  fs::copy_file(temporary_.path() / "other" / "tensors.safetensors", tensors(),
                fs::copy_options::overwrite_existing);
  expect_problem(tensors(), "of another checkpoint");
  Checkpoint altered = sample();
  altered.tensors["generator"].add_(1);
  write_checkpoint(temporary_.path() / "other", altered);
  fs::copy_file(temporary_.path() / "other" / "tensors.safetensors", tensors(),
                fs::copy_options::overwrite_existing);
  expect_problem(tensors(), "of another checkpoint");
}

TEST_F(CheckpointFolder, ChecksShapeAndNamesOfWhatFitsItsDigests) {
  std::string file;
  write_safetensors({{"b", at::zeros({1})}, {"c", at::zeros({1})}},
                    [&](std::string_view piece) { file += piece; });
  write_whole(file, {"b", "c"});
  EXPECT_EQ(problem(), "");
  write_whole(file, {"b"});
  expect_problem(tensors(), "'c' is not named");
  write_whole(file, {"b", "c", "d"});
  expect_problem(tensors(), "'d' is missing");
  write_whole(file, {"a", "b", "c"});
  expect_problem(tensors(), "'a' is missing");
  write_whole(file, {"c"});
  expect_problem(tensors(), "'b' is not named");
  write_whole(std::string(7, '\xff') + "\x7f" + std::string(8, ' '), {"b", "c"});
  expect_problem(tensors(), "a header of");
  write_whole(file, "b");
  expect_problem(document(), "#/tensors/names");
  Json whole = Json::parse(text_of(document()));
  whole["tensors"]["names"] = {"b", "c"};
  for (const char* key : {"/state", "/tensors", "/tensors/bytes", "/tensors/sha256"}) {
    for (const Json& wrong : {Json(-1), Json::array()}) {
      Json bad = whole;
      bad[Json::json_pointer(key)] = wrong;
      write_text(document(), results::seal(bad));
      expect_problem(document(), std::string("#") + key);
    }
  }
  whole["extra"] = 1;
  write_text(document(), results::seal(whole));
  expect_problem(document(), "#/extra");
}

TEST_F(CheckpointFolder, IsLeftAloneByWhatCannotBeWritten) {
  EXPECT_THROW(write_checkpoint(folder(), {{{"a", at::Tensor()}}, Json::object()}), std::invalid_argument);
  EXPECT_THROW(write_checkpoint(folder(), {{}, Json::array()}), std::invalid_argument);
  EXPECT_THROW(write_checkpoint(folder(), {{}, {{"scale", std::nan("")}}}), std::invalid_argument);
  EXPECT_THROW(write_checkpoint(folder(), {{}, {{"name", "\xff"}}}), std::invalid_argument);
  EXPECT_EQ(read_checkpoint(folder()).state, sample().state);
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary_.path()), {}), 1);
}

TEST_F(CheckpointFolder, LeavesWhatIsNoCheckpointAlone) {
  write_text(folder() / "notes.txt", "mine");
  EXPECT_NE(error_of([&] { write_checkpoint(folder(), sample()); }).find("'notes.txt'"), std::string::npos);
  EXPECT_EQ(text_of(folder() / "notes.txt"), "mine");
  const fs::path file = temporary_.path() / "file";
  write_text(file, "mine");
  EXPECT_NE(error_of([&] { write_checkpoint(file, sample()); }).find("no folder"), std::string::npos);
  EXPECT_NE(error_of([&] { write_checkpoint(file / "in", sample()); }), "");
  EXPECT_EQ(text_of(file), "mine");
  fs::create_symlink(temporary_.path() / "nowhere", temporary_.path() / "dangling");
  EXPECT_NE(error_of([&] { write_checkpoint(temporary_.path() / "dangling", sample()); }), "");
  EXPECT_NE(error_of([&] { write_checkpoint("", sample()); }), "");
  EXPECT_NE(error_of([&] { write_checkpoint("/", sample()); }), "");
  EXPECT_EQ(error_of([&] { read_checkpoint(folder()); }), "");
}

TEST_F(CheckpointFolder, FollowsALinkAndMakesParents) {
  const fs::path link = temporary_.path() / "link";
  fs::create_directory_symlink(folder(), link);
  write_checkpoint(link, {{}, {{"iteration", 2}}});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_checkpoint(folder()).state.at("iteration"), 2);
  const fs::path deep = temporary_.path() / "x" / "y" / "z/";
  write_checkpoint(deep, sample());
  EXPECT_EQ(read_checkpoint(deep).state, sample().state);
}

}  // namespace
}  // namespace ampgate::cases
