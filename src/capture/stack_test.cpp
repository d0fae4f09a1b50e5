// Stacks: begin in the caller of the span, have names where symbols are exported, and cost nothing when not asked for.
#include "capture/stack.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "capture/recording_test_support.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

TEST(FrameName, OfALibrary) {
  const auto* function = static_cast<const char*>(dlsym(RTLD_DEFAULT, "getpid"));
  ASSERT_NE(function, nullptr);
  const FrameName name = find_frame_name(function + 1);
  EXPECT_NE(name.function.find("getpid"), std::string::npos);
  EXPECT_NE(name.module.find("libc"), std::string::npos);
  EXPECT_EQ(name.to_string(), name.function);
}

TEST(FrameName, WithoutASymbol) {
  EXPECT_EQ((FrameName{{}, "/usr/lib/libnet.so", 0x1a2b}).to_string(), "libnet.so+0x1a2b");
  EXPECT_EQ(find_frame_name(reinterpret_cast<void*>(0x11)).to_string(), "0x10");
  EXPECT_EQ(find_frame_name(nullptr).to_string(), "0x0");
}

// An address inside its caller.
[[gnu::noinline]] std::uintptr_t here() {
  return reinterpret_cast<std::uintptr_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
}

void expect_near(const RecordDetail* detail, std::uintptr_t near) {
  ASSERT_NE(detail, nullptr);
  ASSERT_GE(detail->stack.size(), 2U);
  ASSERT_LE(detail->stack.size(), kMostFrames);
  // Of the span's constructor when that was not inlined, else of its caller, which is near too: both are this file's.
  bool found = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto frame = reinterpret_cast<std::uintptr_t>(detail->stack[i]);
    found = found || (frame > near - 20'000 && frame < near + 20'000);
  }
  EXPECT_TRUE(found);
}

TEST(Stack, OfSpansOperatorsAndAllocations) {
  TestRecording recording({.record_memory = true, .record_stacks = true});
  const std::uintptr_t near = here();
  const unsigned line = __LINE__;
  { const Span span("span"); }
  { const OpSpan op("op", {{1}}); }
  { STEPSCOPE_SPAN("macro"); }
  record_allocation({.bytes = 16});
  const Recording got = recording.stop();
  expect_sound(got);
  const char* const names[] = {"span", "op", "macro", "[memory]"};
  for (unsigned i = 0; i < 4; ++i) {
    const RecordDetail* detail = find_detail(got, names[i]);
    expect_near(detail, near);
    EXPECT_EQ(detail->line, line + 1 + i);
    EXPECT_NE(std::string(detail->file).find("stack_test.cpp"), std::string::npos);
  }
  EXPECT_EQ(find_detail(got, "op")->shapes, "") << "shapes were not asked for";
}

[[gnu::noinline, gnu::noclone]] int recurse(int depth) {
  const int below = depth > 0 ? recurse(depth - 1) : 0;
  if (depth == 0) const Span span("deep");
  asm volatile("" ::: "memory");  // or GCC makes it a loop
  return below + 1;
}

TEST(Stack, OfDeepRecursionLosesItsOuterEnd) {
  TestRecording recording({.record_stacks = true});
  EXPECT_EQ(recurse(500), 501);
  const Recording got = recording.stop();
  EXPECT_EQ(find_detail(got, "deep")->stack.size(), kMostFrames);
}

}  // namespace
}  // namespace stepscope
