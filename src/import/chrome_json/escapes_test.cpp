// Sound escapes, and the whole string as it stands when one of them is not.
#include "import/chrome_json/escapes.h"

#include <gtest/gtest.h>

namespace stepscope::chrome_json {
namespace {

struct Decoded {
  std::string text;
  std::size_t invalid = 0;
};

Decoded decoded(std::string_view text) {
  Decoded result;
  result.invalid = decode_escapes(text, result.text);
  return result;
}

TEST(Escapes, Decode) {
  EXPECT_EQ(decoded(R"(a\"b\\c\/d\n\t)").text, "a\"b\\c/d\n\t");
  EXPECT_EQ(decoded(R"(\u0041\u00e4\u20ac)").text, "A\xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(decoded(R"(\ud83d\ude00)").text, "\xf0\x9f\x98\x80");
}

TEST(Escapes, HalfASurrogatePairIsReplaced) {
  EXPECT_EQ(decoded(R"(\ud83d)").text, "\xef\xbf\xbd");
  EXPECT_EQ(decoded(R"(\ud83dx)").text, "\xef\xbf\xbdx");
  EXPECT_EQ(decoded(R"(\ude00)").text, "\xef\xbf\xbd");
}

TEST(Escapes, OneInvalidEscapeMakesAllLiteral) {
  const Decoded path = decoded(R"(C:\temp\new\site)");
  EXPECT_EQ(path.text, R"(C:\temp\new\site)");
  EXPECT_EQ(path.invalid, 1U);
  EXPECT_EQ(decoded(R"(D:\users\q)").invalid, 2U) << "\\u without digits and \\q";
  EXPECT_EQ(decoded("ends with \\").invalid, 1U);
}

TEST(Escapes, ForbiddenBytes) {
  EXPECT_FALSE(has_forbidden_bytes("aten::mm \xc3\xa4"));
  EXPECT_TRUE(has_forbidden_bytes("a\nb"));
  EXPECT_TRUE(has_forbidden_bytes("a\xff"));
  EXPECT_TRUE(has_forbidden_bytes(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace stepscope::chrome_json
