// Hostile and wide names must neither break a terminal nor a line's width.
#include "report/text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Text, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("…"), 1U);
  EXPECT_EQ(display_width("训练"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);  // e and a combining accent
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Text, CleanTextCannotSteerATerminal) {
  EXPECT_EQ(clean_text("a\x1b[31mb"), "a\xEF\xBF\xBD[31mb");
  EXPECT_EQ(clean_text("a\nb\tc"), "a b c");
  EXPECT_EQ(clean_text("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(clean_text("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");          // overlong
  EXPECT_EQ(clean_text("\xED\xA0\x80").find("\xED"), std::string::npos);  // surrogate
  EXPECT_EQ(clean_text("a\xE2\x80\xAE"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");                                           // right-to-left override
  EXPECT_EQ(clean_text("a\xE2\x80\x8F"), "a\xEF\xBF\xBD");  // right-to-left mark
  EXPECT_EQ(clean_text("\xC2\x9B"
                       "2J"),
            "\xEF\xBF\xBD"
            "2J");  // C1 control sequence introducer
}

TEST(Text, ShortensWithoutCuttingACharacter) {
  EXPECT_EQ(shorten_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shorten_middle("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(shorten_end("abcdefghij", 5), "abcd…");
  EXPECT_EQ(shorten_middle("abcdefghij", 1), "…");
  EXPECT_EQ(shorten_middle("abcdefghij", 0), "");
  for (std::size_t width = 0; width < 12; ++width) {
    EXPECT_LE(display_width(shorten_middle("训练数据加载", width)), width);
    EXPECT_LE(display_width(shorten_end("训练数据加载", width)), width);
  }
}

TEST(Text, WrapsAtSpacesAndBreaksLongWords) {
  EXPECT_EQ(wrap_text("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap_text("", 7), (std::vector<std::string>{""}));
  EXPECT_EQ(wrap_text("/data/user/train.py", 12), (std::vector<std::string>{"/data/user/", "train.py"}));
  EXPECT_EQ(wrap_text("aaaaaaaaaa", 4), (std::vector<std::string>{"aaaa", "aaaa", "aa"}));
  EXPECT_EQ(wrap_text("about 52 % of it", 9), (std::vector<std::string>{"about", "52 % of", "it"}));
  EXPECT_EQ(wrap_text("took (52 ms) once", 9), (std::vector<std::string>{"took", "(52 ms)", "once"}));
  for (const std::string& line : wrap_text("a 训练数据加载训练数据加载 b", 5)) EXPECT_LE(display_width(line), 5U);
}

TEST(Text, FindsTheNearestWord) {
  const std::vector<std::string_view> words = {"report", "ops", "stacks", "steps"};
  EXPECT_EQ(nearest_word("reprot", words), "report");
  EXPECT_EQ(nearest_word("step", words), "steps");
  EXPECT_EQ(nearest_word("rep", words), "report");
  EXPECT_EQ(nearest_word("zzz", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  EXPECT_EQ(nearest_word(std::string(100000, 'r'), words), "");
}

}  // namespace
}  // namespace stepscope
