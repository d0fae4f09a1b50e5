// The steps through text, and that every way of skipping a list gives the same answer.
#include "import/chrome_json/scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "import/chrome_json/skip_list.h"

namespace stepscope::chrome_json {
namespace {

// Text with its padding.
class Padded {
 public:
  explicit Padded(std::string text) : size_(text.size()), text_(std::move(text)) { text_.append(kTextPadding, '\0'); }
  const char* begin() const { return text_.data(); }
  const char* end() const { return text_.data() + size_; }

 private:
  std::size_t size_;
  std::string text_;
};

// Bytes skipped, or -1.
std::ptrdiff_t skipped(SkipList skip, const Padded& text) {
  bool met_end = false;
  const char* const behind = skip(text.begin(), text.end(), met_end);
  return behind == nullptr ? -1 : behind - text.begin();
}

TEST(Scan, FindsTheEndOfAString) {
  const Padded text(R"(abc\"def\\" x)");
  bool has_backslash = false;
  const char* const close = find_string_end(text.begin(), text.end(), has_backslash);
  EXPECT_EQ(close - text.begin(), 10);
  EXPECT_TRUE(has_backslash);
  const Padded open("no quote here, and long enough for two steps of sixteen bytes");
  EXPECT_EQ(find_string_end(open.begin(), open.end(), has_backslash), nullptr);
}

TEST(Scan, SkipsContainers) {
  EXPECT_EQ(skipped(skip_container, Padded(R"([[1, 2], ["]", {"a": "}"}], []] x)")), 31);
  EXPECT_EQ(skipped(skip_container, Padded("[1, 2}")), -1);
  EXPECT_EQ(skipped(skip_container, Padded("[1, 2")), -1);
  EXPECT_EQ(skipped(skip_container, Padded(R"(["a"b"])")), -1);
  EXPECT_EQ(skipped(skip_container, Padded(R"([{"ph": "X"}])")), -1) << "an event starts inside";
}

TEST(Scan, RefusesDeepNesting) {
  const std::string deep = std::string(kDeepestNesting, '[') + std::string(kDeepestNesting, ']');
  const std::string deeper = std::string(100000, '[') + std::string(100000, ']');
  for (const NamedSkipList& each : all_skip_lists()) {
    EXPECT_EQ(skipped(each.skip, Padded(deep)), static_cast<std::ptrdiff_t>(deep.size())) << each.name;
    EXPECT_EQ(skipped(each.skip, Padded(deeper)), -1) << each.name;
  }
}

TEST(Scan, KnowsTheStartOfAnEvent) {
  auto surely = [](const char* text) {
    const Padded padded(text);
    bool met_end = false;
    return starts_event_surely(padded.begin(), padded.end(), met_end);
  };
  EXPECT_TRUE(surely("{\"ph\": \"X\"}"));
  EXPECT_TRUE(surely("{\n    \"ph\" : \"X\"}"));
  EXPECT_FALSE(surely("{\"phx\": 1}"));
  EXPECT_FALSE(surely("{\"ph\""));
  EXPECT_FALSE(surely("{"));
  const Padded metadata("{ \"name\": \"process_name\"");
  bool met_end = false;
  EXPECT_TRUE(starts_event_perhaps(metadata.begin(), metadata.end(), met_end));
}

// Random lists, some damaged: all ways agree.
TEST(Scan, WaysOfSkippingListsAgree) {
  std::mt19937 random(1);
  const std::string alphabet = "[[]]\"\"\"\"aaaa1234,,  ,,\\{}\n:";
  std::size_t sound = 0;
  for (int round = 0; round < 200000; ++round) {
    const std::size_t used = round % 4 == 0 ? alphabet.size() : alphabet.size() - 5;
    std::string text = "[";
    const std::size_t size = random() % 200;
    bool in_string = false;
    for (std::size_t i = 0; i < size; ++i) {
      const char c = alphabet[random() % used];
      if (c == '"' && in_string && random() % 8 != 0)
        text += "\",";
      else
        text += c;
      in_string ^= c == '"';
    }
    text += "\"]]]]]]]]";
    const Padded padded(text);
    const std::ptrdiff_t expected = skipped(skip_container, padded);
    sound += expected > 0 ? 1 : 0;
    for (const NamedSkipList& each : all_skip_lists()) {
      ASSERT_EQ(skipped(each.skip, padded), expected) << each.name << ": " << text;
    }
  }
  EXPECT_GT(sound, 10000U);
}

}  // namespace
}  // namespace stepscope::chrome_json
