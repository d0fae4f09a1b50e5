// Written and read again, every recording is the same trace; and written again, the same text.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "export/chrome_trace.h"
#include "export/random_trace.h"
#include "export/same_trace.h"
#include "import/importers.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  const fs::path data = STEPSCOPE_TESTS_DIR "/data";
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    if (name.find("json") == std::string::npos) continue;
    if (entry.path().parent_path().string().find("/data/memory") != std::string::npos) continue;            // no traces
    if (name.find(".memtl.") != std::string::npos || name.find(".golden.") != std::string::npos) continue;  // no traces
    names.push_back(fs::relative(entry.path(), data).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A file of this process alone: the tests run side by side.
struct OwnFile {
  std::string path =
      (fs::temp_directory_path() / ("stepscope_fixpoint_" + std::to_string(::getpid()) + ".json")).string();
  ~OwnFile() { fs::remove(path); }
};

std::string text_of(const Trace& trace) {
  std::string text;
  const Status written = write_chrome_trace(trace, [&](std::string_view piece) -> Status {
    text += piece;
    return Done{};
  });
  EXPECT_TRUE(written.has_value());
  return text;
}

class Fixpoint : public testing::TestWithParam<std::string> {};

TEST_P(Fixpoint, ReadsBackAsItWas) {
  const auto read = read_traces(STEPSCOPE_TESTS_DIR "/data/" + GetParam());
  if (!read) {  // the case files of nothing
    EXPECT_TRUE(GetParam().starts_with("cases/A2")) << read.error().to_string();
    return;
  }
  const OwnFile file;
  for (const Trace& trace : *read) {
    const Status written = write_chrome_trace_file(trace, file.path);
    ASSERT_TRUE(written.has_value()) << written.error().to_string();
    const auto again = read_traces(file.path);
    ASSERT_TRUE(again.has_value()) << again.error().to_string();
    ASSERT_EQ(again->size(), 1U);
    EXPECT_EQ(find_difference(trace, again->front()), "");
    EXPECT_TRUE(text_of(trace) == text_of(again->front())) << "the second text differs";
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Fixpoint, testing::ValuesIn(recordings()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

Trace read_back(const Trace& trace) {
  const OwnFile file;
  const Status written = write_chrome_trace_file(trace, file.path);
  EXPECT_TRUE(written.has_value());
  auto read = read_traces(file.path, {.threads = 1, .progress = {}});
  if (!read || read->size() != 1) {
    ADD_FAILURE() << (read ? "several documents" : read.error().to_string());
    return {};
  }
  return std::move(read->front());
}

TEST(FixpointOfRandomTraces, ReadsBackAsItWas) {
  simdjson::dom::parser parser;  // another reader's opinion of what is JSON
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Trace trace = random_trace(seed);
    if (trace.info.event_count == 0) continue;
    const Trace again = read_back(trace);
    ASSERT_EQ(find_table_difference(trace, again), "") << "seed " << seed;
    const Trace third = read_back(again);
    ASSERT_EQ(find_difference(again, third), "") << "seed " << seed;
    const std::string text = text_of(again);
    ASSERT_TRUE(text == text_of(third)) << "seed " << seed;
    ASSERT_FALSE(parser.parse(text).error()) << "seed " << seed << ": no sound JSON";
    ASSERT_EQ(text.find("</"), std::string::npos) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope
