#include "results/sha256.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/results/error_of.h"
#include "tests/results/temporary_file.h"

namespace ampgate::results {
namespace {

// Vectors of FIPS 180-2, appendix B, and of the empty message.
constexpr auto kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr auto kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr auto kMillion = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256_hex(""), kEmpty);
  EXPECT_EQ(sha256_hex("abc"), kAbc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), kMillion);
}

TEST(Sha256, FilesInPieces) {
  const TemporaryFile empty("");
  EXPECT_EQ(sha256_file(empty.path()), kEmpty);
  const std::string text(3 << 20, 'x');  // more than one piece, and a whole number of them
  const TemporaryFile large(text);
  EXPECT_EQ(sha256_file(large.path()), sha256_hex(text));
  EXPECT_NE(error_of([] { sha256_file("/no/such/file"); }), "");
}

TEST(Sha256, OwnDigestSurvivesBeingWritten) {
  const std::string zeros(64, '0');
  const std::string blank = "{\"digest\":\"" + zeros + "\",\"copy\":\"" + kAbc + "\"}";
  const std::string digest = own_digest(blank, zeros);
  EXPECT_EQ(digest, sha256_hex(blank));
  std::string written = blank;
  written.replace(written.find(zeros), 64, digest);
  EXPECT_EQ(own_digest(written, digest), digest);
  written.back() = ' ';
  EXPECT_NE(own_digest(written, digest), digest);
}

TEST(Sha256, OwnDigestRefusesWhatIsNoDigestOfTheText) {
  EXPECT_THROW(own_digest("{}", kAbc), std::invalid_argument);
  EXPECT_THROW(own_digest("{\"digest\":\"12\"}", "12"), std::invalid_argument);
  EXPECT_THROW(own_digest("", ""), std::invalid_argument);
}

}  // namespace
}  // namespace ampgate::results
