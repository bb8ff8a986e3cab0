#include "backends/digest.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>

#include "backends/backend.h"
#include "backends/kernels/hash.h"

namespace ampgate::backends {
namespace {

// Known values, computed by an independent implementation in Python (unbounded integers, modulo 2^64).
TEST(Digest, HasKnownValues) {
  EXPECT_EQ(digest(at::zeros({0}, at::kFloat)), "286d28c1f8fcec40d2820222017d9160");
  EXPECT_EQ(digest(at::scalar_tensor(1.0, at::kFloat)), "99ac4a818982cfa5bf4780400f2e5eba");
  EXPECT_EQ(digest(at::arange(5, at::kLong)), "3c32320f5c44840b509dcd65bfee8b31");
  EXPECT_EQ(digest(at::arange(6, at::kHalf).reshape({2, 3})), "3d9520ba8f730b254ae6d7b5a4b4eaa8");
  EXPECT_EQ(digest(at::tensor({1, 0, 1}, at::kInt).to(at::kBool)), "1966c9421056e3d750c0eecd21933427");
}

TEST(Digest, DependsOnTypeSizesAndOrder) {
  const at::Tensor base = at::zeros({4, 6}, at::kFloat);
  const std::set<std::string> digests{
      digest(base),
      digest(base.reshape({6, 4})),
      digest(base.reshape({24})),
      digest(base.reshape({4, 6, 1})),
      digest(base.to(at::kInt)),
      digest(at::zeros({4, 7}, at::kFloat)),
      digest(at::zeros({48}, at::kHalf)),
      digest(at::zeros({48}, at::kBFloat16)),
      digest(at::zeros({0, 3}, at::kFloat)),
      digest(at::zeros({3, 0}, at::kFloat)),
      digest(at::zeros({}, at::kFloat)),
      digest(at::zeros({1}, at::kFloat)),
  };
  EXPECT_EQ(digests.size(), 12U);
}

TEST(Digest, IgnoresLayout) {
  const at::Tensor tensor = at::arange(2 * 3 * 4 * 5, at::kFloat).reshape({2, 3, 4, 5});
  const std::string expected = digest(tensor);
  EXPECT_EQ(digest(tensor.contiguous(at::MemoryFormat::ChannelsLast)), expected);
  EXPECT_EQ(digest(tensor.permute({3, 1, 0, 2}).contiguous().permute({2, 1, 3, 0})), expected);
  const at::Tensor wide = at::zeros({2, 3, 4, 9}, at::kFloat);
  wide.narrow(3, 2, 5).copy_(tensor);
  EXPECT_EQ(digest(wide.narrow(3, 2, 5)), expected);
  const at::Tensor expanded = at::scalar_tensor(3.0, at::kFloat).expand({7, 5});
  EXPECT_EQ(digest(expanded), digest(at::full({7, 5}, 3.0, at::kFloat)));
}

TEST(Digest, IgnoresThreads) {
  const int before = at::get_num_threads();
  at::manual_seed(1);
  const at::Tensor tensor = at::rand({1'000'003});
  at::set_num_threads(1);
  const std::string one = digest(tensor);
  at::set_num_threads(4);
  const std::string four = digest(tensor);
  at::set_num_threads(before);
  EXPECT_EQ(one, four);
}

TEST(Digest, SeesEveryBit) {
  const at::Tensor tensor = at::arange(21, at::kHalf);
  auto* const bytes = static_cast<unsigned char*>(tensor.mutable_data_ptr());
  std::set<std::string> digests{digest(tensor)};
  for (std::size_t bit = 0; bit < tensor.nbytes() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    digests.insert(digest(tensor));
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
  EXPECT_EQ(digests.size(), tensor.nbytes() * 8 + 1);
}

TEST(Digest, SeesExchangesSignsAndPayloads) {
  const at::Tensor tensor = at::tensor({1.0, 2.0, 3.0, 4.0}, at::kDouble);
  EXPECT_NE(digest(tensor), digest(tensor.flip(0)));
  EXPECT_NE(digest(at::full({3}, 0.0, at::kFloat)), digest(at::full({3}, -0.0, at::kFloat)));
  const at::Tensor quiet = at::full({1}, 0x7fc00000, at::kInt).view(at::kFloat);
  const at::Tensor other = at::full({1}, 0x7fc00001, at::kInt).view(at::kFloat);
  EXPECT_NE(digest(quiet), digest(other));
}

TEST(Digest, ResolvesLazyConjugates) {
  const at::Tensor tensor = at::complex(at::arange(4, at::kFloat), at::arange(4, at::kFloat));
  EXPECT_EQ(digest(tensor.conj()), digest(tensor.conj().resolve_conj()));
  EXPECT_NE(digest(tensor.conj()), digest(tensor));
}

TEST(Digest, OfABackendIsTheSame) {
  const at::Tensor tensor = at::arange(101, at::kHalf).slice(0, 1);
  EXPECT_EQ(open("cpu")->digest(tensor), digest(tensor));
}

TEST(Digest, RefusesWhatIsNotDense) {
  EXPECT_THROW(digest(at::Tensor()), std::invalid_argument);
  EXPECT_THROW(digest(at::eye(3).to_sparse()), std::invalid_argument);
}

// As GPU threads share the words: thread t takes t, t + threads, ...
TEST(Hash, SumsOfStridedPartsAreTheWhole) {
  std::vector<unsigned char> data(8 * 37 + 3);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 37 + 11);
  for (const std::uint64_t bytes : {0U, 1U, 7U, 8U, 9U, 296U, 299U}) {
    const std::uint64_t words = hash::word_count(bytes);
    const hash::Lanes whole = hash::sum_words(data.data(), bytes, 0, words, 1);
    for (const std::uint64_t threads : {1U, 2U, 5U, 64U}) {
      hash::Lanes sum;
      for (std::uint64_t thread = 0; thread < threads; ++thread) {
        hash::add(sum, hash::sum_words(data.data(), bytes, thread, words, threads));
      }
      EXPECT_EQ(sum.first, whole.first) << bytes << " bytes, " << threads << " threads";
      EXPECT_EQ(sum.second, whole.second) << bytes << " bytes, " << threads << " threads";
    }
  }
}

// The lanes of a position: half of the output bits change, on average, with each input bit.
TEST(Hash, MixesEachBitWell) {
  for (int bit = 0; bit < 64; ++bit) {
    int first = 0;
    int second = 0;
    constexpr int kTrials = 64;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      const std::uint64_t word = hash::murmur_mix(trial + 1);
      const hash::Lanes a = hash::mix_word(word, trial);
      const hash::Lanes b = hash::mix_word(word ^ (std::uint64_t{1} << bit), trial);
      first += __builtin_popcountll(a.first ^ b.first);
      second += __builtin_popcountll(a.second ^ b.second);
    }
    // 64 · 64 fair bits have mean 2048 and standard deviation 32.
    EXPECT_NEAR(first, kTrials * 32, 6 * 32) << bit;
    EXPECT_NEAR(second, kTrials * 32, 6 * 32) << bit;
  }
}

}  // namespace
}  // namespace ampgate::backends
