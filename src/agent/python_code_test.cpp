#include "agent/python_code.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope::agent {
namespace {

CodeText code_with(std::string lines, int first_line) { return {"file.py", "f", std::move(lines), first_line}; }
std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(PythonLines, OfPairsOfDeltas) {
  // 4 bytes on line 10, 2 without a line, 6 on line 8.
  const CodeText code = code_with(bytes({4, 0, 2, -128, 6, -2}), 10);
  EXPECT_EQ(line_of(10, code, 0), 10U);
  EXPECT_EQ(line_of(10, code, 3), 10U);
  EXPECT_EQ(line_of(10, code, 4), 0U);
  EXPECT_EQ(line_of(10, code, 6), 8U);
  EXPECT_EQ(line_of(10, code, 12), 0U);
  EXPECT_EQ(line_of(10, code, -1), 10U);
}

TEST(PythonLines, OfEveryFormOfLocation) {
  const CodeText code = code_with(bytes({
                                      0x80 | 0 << 3 | 0, 0x11,         // short form, 1 unit, same line
                                      0x80 | 11 << 3 | 1, 0x05, 0x06,  // one line on, 2 units
                                      0x80 | 13 << 3 | 0, 0x03,        // no columns: one line back
                                      0x80 | 15 << 3 | 0,              // no location
                                      0x80 | 14 << 3 | 7, 0x48, 0x0F, 0x00, 0x01, 0x01,  // long: +(8 | 15 << 6) / 2
                                  }),
                                  100);
  EXPECT_EQ(line_of(11, code, 0), 100U);
  EXPECT_EQ(line_of(11, code, 2), 101U);
  EXPECT_EQ(line_of(12, code, 4), 101U);
  EXPECT_EQ(line_of(12, code, 6), 100U);
  EXPECT_EQ(line_of(13, code, 8), 0U);
  EXPECT_EQ(line_of(13, code, 10), 100U + (8 + 15 * 64) / 2);
  EXPECT_EQ(line_of(13, code, 24), 100U + (8 + 15 * 64) / 2);
  EXPECT_EQ(line_of(13, code, 26), 0U);
}

TEST(PythonLines, SurviveAnyBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string table(random() % 40, '\0');
    for (char& byte : table) byte = static_cast<char>(random());
    const CodeText code = code_with(table, static_cast<int>(random()));
    for (const int minor : {10, 11, 14}) (void)line_of(minor, code, static_cast<int>(random() % 400));
  }
}

TEST(PythonStrings, BecomeUtf8) {
  EXPECT_EQ(utf8_of("a\xe9", 1), "aé");
  EXPECT_EQ(utf8_of(std::string_view("\x0d\x54\x00\xd8", 4), 2), "名\xef\xbf\xbd");
  EXPECT_EQ(utf8_of(std::string_view("\x00\xf6\x01\x00\x00\x00\x11\x00", 8), 4), "😀\xef\xbf\xbd");
  EXPECT_EQ(utf8_of("", 4), "");
}

}  // namespace
}  // namespace stepscope::agent
