// Escaping, by what each class of characters becomes, and against a second reading of the rules on random bytes.
#include "export/json_text.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope {
namespace {

std::string json_string(std::string_view text) {
  std::string json;
  append_json_string(text, json);
  return json;
}

TEST(JsonText, PlainTextStandsAsItIs) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("aten::mm"), "\"aten::mm\"");
  EXPECT_EQ(json_string("Wärme 熱 🔥 a/b <T>"), "\"Wärme 熱 🔥 a/b <T>\"");
  EXPECT_EQ(json_string("\x7f"), "\"\x7f\"");
}

TEST(JsonText, QuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(json_string("say \"hi\""), R"("say \"hi\"")");
  EXPECT_EQ(json_string(R"(C:\temp\new)"), R"("C:\\temp\\new")");
  EXPECT_EQ(json_string("a\nb\tc\rd"), R"("a\nb\tc\rd")");
  EXPECT_EQ(json_string(std::string_view("\0\b\f\x1f", 4)), R"("\u0000\u0008\u000c\u001f")");
}

TEST(JsonText, NothingEndsAScriptOrALine) {
  EXPECT_EQ(json_string("</script>"), R"("\u003c/script>")");
  EXPECT_EQ(json_string("<!--"), R"("\u003c!--")");
  EXPECT_EQ(json_string("a<b"), "\"a<b\"");
  EXPECT_EQ(json_string("a<"), "\"a<\"");
  EXPECT_EQ(json_string("\u2028\u2029"), R"("\u2028\u2029")");
}

TEST(JsonText, BrokenUtf8BecomesReplacementCharacters) {
  const std::string replaced = "\"\uFFFD\"";
  EXPECT_EQ(json_string("\xff"), replaced);
  EXPECT_EQ(json_string("\x80"), replaced) << "a continuation without its first byte";
  EXPECT_EQ(json_string("\xc3"), replaced) << "cut";
  EXPECT_EQ(json_string("\xe7\x86"), replaced) << "cut: one piece, one character";
  EXPECT_EQ(json_string("\xf0\x9f\x94"), replaced);
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\uFFFD\uFFFD\"") << "overlong slash";
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\uFFFD\uFFFD\uFFFD\"") << "a surrogate";
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"") << "behind U+10FFFF";
  EXPECT_EQ(json_string("a\xe9\x62"), "\"a\uFFFDb\"") << "Latin-1";
}

TEST(JsonText, OnlyWhatStaysTheSameIsPlain) {
  std::mt19937 random(3);
  const std::string alphabet = "ab\"\\</!\n\x01\xc3\xa4\xe2\x80\xa8\xff\xf0\x9f\x94\xa5 ";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 8, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    const std::string json = json_string(text);
    ASSERT_EQ(is_plain_json_text(text), json == "\"" + text + "\"") << json;
    ASSERT_TRUE(is_json_value(json)) << json;
    ASSERT_EQ(json.find("</"), std::string::npos);
  }
}

TEST(JsonText, ValuesAreChecked) {
  for (const char* good : {"[]", "[[2, 3], [], 4]", "{}", R"({"a": [1, -2.5e+3, "x\u00e9\n"], "b": null})", "true",
                           "-0", "0.5", " [ 1 , 2 ] ", "[\"\"]"}) {
    EXPECT_TRUE(is_json_value(good)) << good;
  }
  for (const char* bad : {"",        "[",          "[1,]",     "[1 2]",     "]",           "[inf]",
                          "[nan]",   "[01]",       "[+1]",     "[1.]",      "[.5]",        "[1e]",
                          "{1: 2}",  "{\"a\" 1}",  "[\"a]",    "[\"\\x\"]", "[\"\\u12\"]", "[\"</script>\"]",
                          "[1] [2]", "[\"\xff\"]", "[\"\n\"]", "tru",       "[\"a\\"}) {
    EXPECT_FALSE(is_json_value(bad)) << bad;
  }
  EXPECT_TRUE(is_json_value(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(is_json_value(std::string(100'000, '['))) << "too deep for any reader, and for the stack";
}

TEST(JsonText, Integers) {
  for (const char* good : {"0", "7", "-1", "4194304", "999999999999999999"}) EXPECT_TRUE(is_json_integer(good)) << good;
  for (const char* bad : {"", "-", "007", "-0", "1.5", "1e5", "+1", "Spans", " 1", "1234567890123456789", "0x10"}) {
    EXPECT_FALSE(is_json_integer(bad)) << bad;
  }
}

}  // namespace
}  // namespace stepscope
