#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "results/error.h"
#include "validate/failure.h"

namespace ampgate::validate {
namespace {

using results::Verdict;

template <typename Error>
Failure failure_of(const Error& error) {
  return catch_failure([&] { throw error; }).value_or(Failure{Verdict::kPass, ""});
}

c10::Error libtorch(const char* text) { return {text, nullptr, nullptr}; }

TEST(Failure, WhatAKernelLacksIsUnsupported) {
  EXPECT_EQ(failure_of(libtorch("\"histogram_cpu\" not implemented for 'Half'")).verdict,
            Verdict::kUnsupported);
  EXPECT_EQ(failure_of(libtorch("expected scalar type Float but found Half")).verdict, Verdict::kUnsupported);
  // oneDNN's LSTM in FP16, called by LibTorch and by TorchScript.
  constexpr auto kNoPrimitive =
      "could not create a primitive descriptor for the LSTM forward propagation primitive";
  EXPECT_EQ(failure_of(libtorch(kNoPrimitive)).verdict, Verdict::kUnsupported);
  EXPECT_EQ(failure_of(std::runtime_error(kNoPrimitive)).verdict, Verdict::kUnsupported);
}

TEST(Failure, MemoryThatIsNotThereIsUnsupported) {
  EXPECT_EQ(failure_of(std::bad_alloc()).verdict, Verdict::kUnsupported);
  const auto host = libtorch("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes");
  EXPECT_EQ(failure_of(host).verdict, Verdict::kUnsupported);
  EXPECT_FALSE(is_refusal(host));
}

TEST(Failure, TheRestCrashed) {
  const auto misfit = libtorch("mat1 and mat2 shapes cannot be multiplied (8x4 and 5x6)");
  EXPECT_EQ(failure_of(misfit).verdict, Verdict::kCrashed);
  EXPECT_TRUE(is_refusal(misfit));
  EXPECT_EQ(failure_of(std::out_of_range("at")).verdict, Verdict::kCrashed);
  EXPECT_EQ(failure_of(3).verdict, Verdict::kCrashed);
  EXPECT_FALSE(catch_failure([] {}).has_value());
}

TEST(Failure, FilesAndTheEnvironmentAreNoTrialsFault) {
  EXPECT_THROW(catch_failure([] { throw results::FileError("a.json", "is cut", ""); }), results::FileError);
}

}  // namespace
}  // namespace ampgate::validate
