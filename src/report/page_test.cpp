// Lines keep their width with and without colour.
#include "report/page.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Page, ColourDoesNotCount) {
  Style style;
  style.colour = true;
  Page page(style);
  Line line = page.line();
  line.add("ab", Ink::kRed).pad_to(4).add("c");
  EXPECT_EQ(line.width(), 5U);
  EXPECT_EQ(line.text(), "\x1b[31mab\x1b[0m  c");
}

TEST(Page, WrapsWithHangingIndent) {
  Style style;
  style.width = 20;
  Page page(style);
  page.paragraph("one two three four five", 2, Ink::kPlain, 2);
  EXPECT_EQ(page.text(), "  one two three\n    four five\n");
}

TEST(Page, CutsAParagraphVisibly) {
  Style style;
  style.width = 20;
  Page page(style);
  page.paragraph_cut("one two three four five six seven eight nine ten", 0, 2);
  EXPECT_EQ(page.text(), "one two three four\nfive six seven…\n");
}

TEST(Page, AsciiReplacesBlocks) {
  Style style;
  style.ascii = true;
  Page page(style);
  page.add(page.line().add("██░░ a…"));
  EXPECT_EQ(page.text(), "##.. a~\n");
}

TEST(Page, RightAlignedTextStartsAtOnceWithoutRoom) {
  Style style;
  Page page(style);
  EXPECT_EQ(page.line().add("abc").add_right(8, "de").text(), "abc   de");
  EXPECT_EQ(page.line().add("abcdefgh").add_right(8, "de").text(), "abcdefghde");
}

}  // namespace
}  // namespace stepscope
