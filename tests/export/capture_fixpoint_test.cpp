// A trace written as a capture is the same trace when it is read; a capture written as JSON is the same trace too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "export/capture_trace.h"
#include "export/chrome_trace.h"
#include "export/random_trace.h"
#include "export/same_trace.h"
#include "import/capture/made_capture.h"
#include "import/importers.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

std::string capture_of(const Trace& trace) {
  std::string bytes;
  const Status written = write_capture(trace, [&](std::string_view piece) -> Status {
    bytes += piece;
    return Done{};
  });
  EXPECT_TRUE(written.has_value());
  return bytes;
}

Trace read_back(const std::string& bytes) {
  auto read = capture_format::read_bytes(bytes);
  if (!read || read->size() != 1) {
    ADD_FAILURE() << (read ? "several traces" : read.error().to_string());
    return {};
  }
  return std::move(read->front());
}

std::string notes_of(const Trace& trace) {
  std::string text;
  for (const Note& note : trace.notes.all()) {
    text += std::string(note_kind_name(note.kind)) + "/" + std::string(note_severity_name(note.severity)) + "/" +
            std::to_string(note.count) + "@" + std::to_string(note.first_offset) + " " + note.example + "\n";
  }
  return text;
}

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  const fs::path data = STEPSCOPE_TESTS_DIR "/data";
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    if (name.find("json") == std::string::npos) continue;
    if (name.find(".memtl.") != std::string::npos || name.find(".golden.") != std::string::npos) continue;  // no traces
    names.push_back(fs::relative(entry.path(), data).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CaptureFixpoint : public testing::TestWithParam<std::string> {};

TEST_P(CaptureFixpoint, ReadsBackAsItWas) {
  const auto read = read_traces(STEPSCOPE_TESTS_DIR "/data/" + GetParam());
  if (!read) return;  // the case files of nothing
  for (const Trace& trace : *read) {
    const Trace again = read_back(capture_of(trace));
    EXPECT_EQ(find_difference(trace, again), "") << "the producer and the notes too";
    EXPECT_EQ(trace.info.metadata_event_count, again.info.metadata_event_count);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, CaptureFixpoint, testing::ValuesIn(recordings()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(CaptureFixpointOfRandomTraces, ReadsBackAsItWas) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Trace trace = random_trace(seed);
    if (trace.info.event_count == 0) continue;
    const Trace again = read_back(capture_of(trace));
    ASSERT_EQ(find_table_difference(trace, again), "") << "seed " << seed;
    ASSERT_EQ(notes_of(trace), notes_of(again)) << "seed " << seed;
  }
}

// Operators of a capture have no external_id; in JSON all have one, as other tools join by it. Here they are gone
// again.
template <class Table>
void forget_external_ids(Table& table) {
  for (const auto id : table.ids().ids()) table.external_id[id] = {};
}

// What the agent writes, as JSON for other tools and back.
TEST(CaptureFixpoint, RecordsAreTheSameTraceByWayOfJson) {
  const Trace trace = read_back(capture_format::made_training().whole());
  const std::string path =
      (fs::temp_directory_path() / ("stepscope_capture_fixpoint_" + std::to_string(::getpid()) + ".json.gz")).string();
  ASSERT_TRUE(write_chrome_trace_file(trace, path).has_value());
  auto again = read_traces(path);
  fs::remove(path);
  ASSERT_TRUE(again.has_value());
  Trace& back = again->front();
  std::set<std::int64_t> numbers;
  for (const OpId op : back.ops.ids().ids()) numbers.insert(back.ops.external_id[op].value_or(-1));
  EXPECT_EQ(numbers.size(), back.ops.size());
  EXPECT_FALSE(numbers.contains(-1));
  forget_external_ids(back.ops);
  forget_external_ids(back.calls);
  forget_external_ids(back.gpu_events);
  for (const CallId call : back.calls.ids().ids()) {
    EXPECT_EQ(back.calls.op_by_external_id[call], back.calls.op[call]);
    back.calls.op_by_external_id[call] = {};
  }
  EXPECT_EQ(find_difference(trace, back), "") << "the producer and the notes too";
}

TEST(CaptureFixpoint, DamagedRowsCostTheirChunk) {
  const Trace trace = random_trace(3);
  const std::string whole = capture_of(trace);
  std::size_t with_tables = 0;
  for (std::size_t at = wire::kFileHeaderBytes; at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    const auto read = capture_format::read_bytes(changed);
    if (!read) continue;
    EXPECT_TRUE(read->front().notes.lost_anything()) << at;
    with_tables += read->front().info.event_count > 0 ? 1 : 0;
  }
  EXPECT_GT(with_tables, 0U);
}

}  // namespace
}  // namespace stepscope
