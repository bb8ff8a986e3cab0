#include "results/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/results/error_of.h"

namespace ampgate::results {
namespace {

namespace fs = std::filesystem;

class JournalFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ampgate-journal-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto journal = Journal::create(path(), {{"ampgate_journal", kJournalVersion},
                                            {"run", Json::object()},
                                            {"plan", {{"seed", 1}}},
                                            {"rules", Json::object()}});
    for (const char* id : {"a", "b", "c"}) journal.append({{"trial", {{"id", id}, {"verdict", "pass"}}}});
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "run.journal.jsonl"; }
  std::string text() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  std::string problem() const {
    return error_of([&] { Journal::resume(path()); });
  }

  fs::path folder_;
};

TEST_F(JournalFile, GoesOnAfterATornLine) {
  write(text() + R"({"trial":{"id":"torn)");
  {
    auto journal = Journal::resume(path());
    EXPECT_EQ(journal.data().trials.size(), 3U);
    EXPECT_FALSE(journal.data().header.contains("sha256"));
    journal.append({{"trial", {{"id", "d"}, {"verdict", "pass"}}}});
  }
  EXPECT_EQ(Journal::resume(path()).data().trials.size(), 4U);
}

TEST_F(JournalFile, NoByteMayBeAltered) {
  const std::string good = text();
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at + 1 == good.size()) break;  // without its end the last line is a torn one
    std::string bad = good;
    bad[at] = bad[at] == '0' ? '1' : '0';
    write(bad);
    EXPECT_NE(problem(), "") << "byte " << at;
  }
  write(good);
  EXPECT_EQ(problem(), "");
}

TEST_F(JournalFile, AlteredLinesAreNamed) {
  const std::string good = text();
  std::string bad = good;
  bad.replace(bad.rfind("pass"), 4, "fail");
  write(bad);
  EXPECT_NE(problem().find("line 4: altered"), std::string::npos) << problem();
  bad = good;
  bad.replace(bad.find("\"seed\":1"), 8, "\"seed\":2");
  write(bad);
  EXPECT_NE(problem().find("line 1: altered"), std::string::npos) << problem();
}

TEST_F(JournalFile, NoLineMayBeLostOrRepeated) {
  const std::string good = text();
  const auto second = good.find('\n') + 1;
  const auto third = good.find('\n', second) + 1;
  write(good.substr(0, second) + good.substr(third));
  EXPECT_NE(problem().find("line 2: altered"), std::string::npos) << problem();
  write(good.substr(0, third) + good.substr(second));
  EXPECT_NE(problem().find("line 3: altered"), std::string::npos) << problem();
}

TEST_F(JournalFile, OtherVersionsAreNamedFirst) {
  write(R"({"ampgate_journal":1,"run":{},"plan":{},"rules":{}})"
        "\n");
  EXPECT_NE(problem().find("journal of version 1; this ampgate reads version 2"), std::string::npos);
}

}  // namespace
}  // namespace ampgate::results
