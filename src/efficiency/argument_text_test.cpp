// The grammar, and junk that must be refused without harm.
#include "efficiency/argument_text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(ArgumentText, SizesOfTensorsScalarsAndLists) {
  const auto read = parse_argument_sizes("[[32, 3,224 ,224], [], [[2, 3], [], [4]], []]");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 4U);
  EXPECT_EQ((*read)[0].sizes, (Sizes{32, 3, 224, 224}));
  EXPECT_TRUE((*read)[1].sizes.empty());
  EXPECT_EQ((*read)[2].items, (std::vector<Sizes>{{2, 3}, {}, {4}}));
  EXPECT_TRUE((*read)[3].items.empty());
  EXPECT_TRUE(parse_argument_sizes("[]")->empty());
}

TEST(ArgumentText, JunkIsNothing) {
  for (const char* junk : {"", "[", "[[1]", "[[1]]]", "[[1,]]", "[1]", "[[-1]]", "[[1.5]]", "[[1e9]]", "null",
                           "[[99999999999999999999]]", "[[1],", "{\"a\": 1}", "[[[[1]]]]", "[[\"a\"]]", "[[1]] x"}) {
    EXPECT_FALSE(parse_argument_sizes(junk).has_value()) << junk;
  }
  EXPECT_FALSE(parse_argument_sizes(std::string(1'000'000, '[')).has_value());
  std::string many = "[[0";
  for (int i = 0; i < 200'000; ++i) many += ",1";
  EXPECT_FALSE(parse_argument_sizes(many + "]]").has_value());
}

TEST(ArgumentText, Strings) {
  EXPECT_EQ(*parse_argument_texts(R"(["", "[2, 2]", "1"])"), (std::vector<std::string>{"", "[2, 2]", "1"}));
  EXPECT_EQ(*parse_argument_texts(R"(["a\"b"])"), (std::vector<std::string>{"a\"b"}));
  EXPECT_FALSE(parse_argument_texts(R"(["a)").has_value());
  EXPECT_FALSE(parse_argument_texts(R"(["a\)").has_value());
  EXPECT_FALSE(parse_argument_texts("[1]").has_value());
}

TEST(ArgumentText, NumbersAndBooleans) {
  EXPECT_EQ(*parse_integers("[2, 2]"), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(*parse_integers("7"), (std::vector<std::int64_t>{7}));
  EXPECT_FALSE(parse_integers("same").has_value());
  EXPECT_FALSE(parse_integers("").has_value());
  EXPECT_EQ(*parse_booleans("[True, False, true]"), (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(parse_booleans("[None]").has_value());
}

TEST(ArgumentText, TorchText) {
  EXPECT_EQ(torch_shapes_text("[[32,3],[],[[1],[2,2]]]"), "[[32, 3], [], []]");
  EXPECT_EQ(torch_shapes_text(""), "[]");
  EXPECT_EQ(torch_shapes_text("[[1], junk"), "[]");
}

}  // namespace
}  // namespace stepscope
