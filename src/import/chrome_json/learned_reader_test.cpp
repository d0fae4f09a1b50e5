// The learned reader gives the tokens that the plain one gives, whatever it has learned before.
#include "import/chrome_json/learned_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

// All tokens as text, or "refused".
std::string describe(const char* behind, const Event& event) {
  if (behind == nullptr) return "refused";
  std::string text = std::to_string(behind - event.begin) + "|";
  auto add = [&](Token token) {
    text += std::to_string(static_cast<int>(token.kind)) + ":" + std::string(token.text()) + "|";
  };
  for (unsigned i = 0; i < static_cast<unsigned>(Field::kCount); ++i) add(event.fields[static_cast<Field>(i)]);
  for (unsigned i = 0; i < static_cast<unsigned>(Arg::kCount); ++i) add(event.args[static_cast<Arg>(i)]);
  return text;
}

std::string plainly(const std::string& text) {
  Event event;
  Remarks remarks;
  const char* const behind = read_event(text.data(), text.data() + text.size() - kTextPadding, event, remarks);
  return describe(behind, event);
}

std::string learned(LearnedReader& reader, const std::string& text) {
  Event event;
  Remarks remarks;
  const char* const behind = reader.read(text.data(), text.data() + text.size() - kTextPadding, event, remarks);
  return describe(behind, event);
}

std::string padded(std::string text) {
  text.append(kTextPadding, '\0');
  return text;
}

TEST(LearnedReader, AgreesOnRecordedEvents) {
  for (const std::string name : {"mask_sync", "ddp_rank0", "solid"}) {
    std::string path = STEPSCOPE_TESTS_DIR "/data/h200/";
    path += name + ".pt.trace.json.gz";
    auto source = open_bytes(path, false);
    ASSERT_TRUE(source.has_value());
    std::string text(2 << 20, '\0');
    text.resize(read_fully(**source, text.data(), text.size()).value());
    LearnedReader reader;
    std::size_t at = text.find('{', text.find("\"traceEvents\""));
    std::size_t events = 0;
    for (std::size_t next = 0; (next = text.find("\n  },", at)) != std::string::npos; ++events) {
      const std::string event = padded(text.substr(at, next + 4 - at));
      const std::string expected = plainly(event);
      ASSERT_NE(expected, "refused");
      ASSERT_EQ(learned(reader, event), expected);
      at = text.find('{', next);
      if (at == std::string::npos) break;
    }
    EXPECT_GT(events, 5000U);
  }
}

// Events of many layouts, some of them damaged: keys dropped, spaced, doubled, arguments of every kind.
TEST(LearnedReader, AgreesOnOddEvents) {
  std::mt19937 random(11);
  auto one_of = [&](std::initializer_list<const char*> choices) {
    return *(choices.begin() + random() % choices.size());
  };
  LearnedReader reader;
  std::size_t sound = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string text = "{";
    const int members = static_cast<int>(random() % 5);
    for (int i = 0; i < members; ++i) {
      if (i > 0) text += one_of({",", ", ", ",\n    ", ", "});
      text +=
          one_of({"\"ph\": \"X\"", "\"cat\": \"kernel\"", "\"name\":\"n\"", "\"ts\": 12.500", "\"pid\" : 7",
                  "\"x\": [1, 2]", "\"args\": {}", "\"args\": null", "\"args\": {\"device\": 0, \"grid\": [1, 1, 1]}",
                  "\"args\": {\"device\": {\"a\": 1}}", "\"args\": [1]", "\"args\": { \"bytes\": nan}"});
    }
    text += one_of({"}", " }", "\n  }", ",}", "}}"});
    if (random() % 10 == 0) text[random() % text.size()] = one_of({"\"", "{", "}", ",", "x"})[0];
    text = padded(text);
    const std::string expected = plainly(text);
    sound += expected == "refused" ? 0 : 1;
    ASSERT_EQ(learned(reader, text), expected) << text;
  }
  EXPECT_GT(sound, 20000U);
}

}  // namespace
}  // namespace stepscope::chrome_json
