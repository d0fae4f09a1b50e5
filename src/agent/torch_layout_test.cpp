#include "agent/torch_layout.h"

#include <gtest/gtest.h>

#include "agent/fake_torch.h"

namespace stepscope::agent {
namespace {

TorchProof prove_with(FakeTorch::Fault fault) {
  const FakeTorch fake(fault);
  return prove_torch(FakeTorch::library(), false);
}

TEST(TorchLayout, FindsTheFieldsOfARecord) {
  const TorchProof proof = prove_with(FakeTorch::Fault::kNone);
  EXPECT_TRUE(proof.is_proven) << proof.problem;
  EXPECT_EQ(proof.layout.sequence, offsetof(FakeTorch::Record, sequence));
  EXPECT_EQ(proof.layout.forward_thread, offsetof(FakeTorch::Record, forward_thread));
  EXPECT_EQ(proof.missing, "");
  EXPECT_FALSE(proof.layout.has_shapes());
}

TEST(TorchLayout, LeavesNothingBehind) {
  const FakeTorch fake;
  FakeTorch::is_enabled() = false;
  EXPECT_TRUE(prove_torch(FakeTorch::library(), false).is_proven);
  EXPECT_FALSE(FakeTorch::is_enabled());
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
}

TEST(TorchLayout, RefusesCallbacksThatDoNotDoAsExpected) {
  for (const auto fault : {FakeTorch::Fault::kWrongName, FakeTorch::Fault::kNoEnd, FakeTorch::Fault::kAllScopes,
                           FakeTorch::Fault::kCalledTwice}) {
    const TorchProof proof = prove_with(fault);
    EXPECT_FALSE(proof.is_proven) << static_cast<int>(fault);
    EXPECT_NE(proof.problem, "");
  }
}

TEST(TorchLayout, TakesNoFieldThatItCannotTellFromAnother) {
  const TorchProof two = prove_with(FakeTorch::Fault::kTwoSequences);
  EXPECT_TRUE(two.is_proven);
  EXPECT_EQ(two.layout.sequence, 0U);
  EXPECT_EQ(two.layout.forward_thread, 0U);
  EXPECT_EQ(two.missing, "sequence numbers, forward threads");
  const TorchProof no_ids = prove_with(FakeTorch::Fault::kNoIds);
  EXPECT_NE(no_ids.layout.sequence, 0U);
  EXPECT_EQ(no_ids.missing, "forward threads");
}

TEST(TorchLayout, SaysWhatIsMissingWithoutTheCFunctions) {
  const FakeTorch fake;
  const TorchProof proof = prove_torch(FakeTorch::library(), true);
  EXPECT_TRUE(proof.is_proven);
  EXPECT_EQ(proof.missing, "shapes");
}

TEST(TorchLayout, RefusesALibraryWithoutTheSymbols) {
  EXPECT_FALSE(prove_torch(TorchLibrary{}, true).is_proven);
  TorchLibrary old = FakeTorch::library();
  old.guarded_list = nullptr;
  EXPECT_FALSE(prove_torch(old, true).is_proven);
  TorchLibrary bare = FakeTorch::library();
  bare.construct = nullptr;
  EXPECT_FALSE(prove_torch(bare, true).is_proven);
}

TEST(TorchLibrary, ReadsTheVersion) {
  EXPECT_EQ(
      version_in("from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '2.13.0+cpu'\n"),
      "2.13.0+cpu");
  EXPECT_EQ(version_in("x\n__version__ = \"1.13.1\"\n"), "1.13.1");
  for (const char* text : {"", "\n__version__ = ", "\n__version__ = 'un\n'", "__all__ = ['__version__']\n"}) {
    EXPECT_EQ(version_in(text), "") << text;
  }
  EXPECT_EQ(version_of_file("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.2.14.1"), "2.14.1");
  for (const char* path : {"", "libtorch_cpu.so", "libtorch_cpu.so.", "libtorch_cpu.so.2", "libtorch_cpu.so.x.1"}) {
    EXPECT_EQ(version_of_file(path), "") << path;
  }
}

}  // namespace
}  // namespace stepscope::agent
