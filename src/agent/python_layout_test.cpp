#include "agent/python_layout.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace stepscope::agent {
namespace {

// The beginning of _PyRuntime: every word is its own number, but for those that say what it is.
std::array<std::uint64_t, 64> published(int minor, bool is_free_threaded) {
  std::array<std::uint64_t, 64> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = 0x030000F0 | static_cast<std::uint64_t>(minor) << 16;
  words[2] = is_free_threaded ? 1 : 0;
  return words;
}

TEST(PythonLayout, ReadsVersions) {
  EXPECT_EQ(parse_python_version("3.12.3 (main, Apr  9 2024, 08:09:14) [GCC]").minor, 12);
  EXPECT_EQ(parse_python_version("3.12.3 (main)").text, "3.12.3");
  EXPECT_EQ(parse_python_version("3.14.0rc1").minor, 14);
  for (const char* text : {"", "2.7.18 (x)", "4.0", "3.", "3.x"})
    EXPECT_EQ(parse_python_version(text).minor, 0) << text;
}

TEST(PythonLayout, TakesThePublishedOffsets) {
  const auto words = published(13, false);
  const LayoutGuess guess = guess_layout(13, words.data());
  EXPECT_EQ(guess.problem, "");
  EXPECT_EQ(guess.layout.thread_frame, 23U);
  EXPECT_EQ(guess.layout.frame_previous, 29U);
  EXPECT_EQ(guess.layout.frame_owner, 33U);
  EXPECT_EQ(guess.layout.code_file, 35U);
  EXPECT_EQ(guess.layout.code_bytes, 43U);
}

TEST(PythonLayout, RefusesWhatItDoesNotKnow) {
  const auto free_threaded = published(13, true);
  EXPECT_EQ(guess_layout(13, free_threaded.data()).problem, "it is a free-threaded build");
  const auto other = published(12, false);
  EXPECT_NE(guess_layout(13, other.data()).problem, "");
  const auto future = published(15, false);
  EXPECT_EQ(guess_layout(15, future.data()).problem, "its layout is not known");
  EXPECT_NE(guess_layout(13, nullptr).problem, "");
  EXPECT_NE(guess_layout(14, reinterpret_cast<const void*>(64)).problem, "");
  EXPECT_NE(guess_layout(9, nullptr).problem, "");
  for (const int minor : {10, 11, 12}) EXPECT_EQ(guess_layout(minor, nullptr).layout.minor, minor);
}

TEST(PythonLayout, FindsNoInterpreterHere) {
  const PythonApi api = find_python();
  EXPECT_EQ(api.version, nullptr);
  EXPECT_FALSE(api.is_complete());
}

}  // namespace
}  // namespace stepscope::agent
