// Rows that break the model's invariants, which only a faulty or hostile writer makes: their chunk is refused.
#include "import/capture/table_rows.h"

#include <gtest/gtest.h>

namespace stepscope::capture_format {
namespace {

using wire::CellType;

// One column of equal or of counted cells.
struct Cells {
  const char* name;
  CellType type;
  std::vector<std::int64_t> numbers;  // -1 in kRow: none
};

std::string chunk_of(std::string_view table, const std::vector<Cells>& columns, std::uint64_t first_row = 0) {
  wire::TableWriter writer;
  writer.begin(table, first_row, static_cast<std::uint32_t>(columns[0].numbers.size()));
  for (const Cells& column : columns) {
    writer.begin_column(column.name, column.type);
    for (const std::int64_t number : column.numbers) {
      if (column.type == CellType::kInteger) writer.integer(number);
      if (column.type == CellType::kString) writer.string(static_cast<WireString>(number));
      if (column.type == CellType::kMaybeInteger) writer.maybe(number);
      if (column.type == CellType::kRow)
        writer.row(number < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(number)));
    }
    writer.end_column();
  }
  return std::string(writer.finish());
}

class TableRowsTest : public testing::Test {
 protected:
  TableRows rows_{[](WireString number) { return number == 0 ? std::string_view() : std::string_view("text"); }};

  void SetUp() override {
    ASSERT_TRUE(rows_.take(chunk_of("processes", {{"key", CellType::kString, {1}}})));
    ASSERT_TRUE(rows_.take(chunk_of("threads", {{"process", CellType::kRow, {0}}, {"key", CellType::kString, {1}}})));
    ASSERT_TRUE(rows_.take(chunk_of("devices", {{"number", CellType::kInteger, {0, 1}}})));
    ASSERT_TRUE(rows_.take(chunk_of("streams", {{"device", CellType::kRow, {0}}, {"key", CellType::kString, {1}}})));
  }
  Trace finish() {
    Builder builder;
    rows_.finish(builder);
    return builder.finish(1);
  }
};

TEST_F(TableRowsTest, SoundRowsAreTaken) {
  EXPECT_TRUE(rows_.take(chunk_of("ops", {{"start_ns", CellType::kInteger, {5, 9}},
                                          {"end_ns", CellType::kInteger, {6, 9}},
                                          {"thread", CellType::kRow, {0, 0}},
                                          {"name", CellType::kString, {1, 0}},
                                          {"sequence", CellType::kMaybeInteger, {7, 8}},
                                          {"a column of tomorrow", CellType::kInteger, {1, 2}}})));
  const Trace trace = finish();
  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(trace.ops.end_ns[OpId(0)], 6);
  EXPECT_EQ(trace.ops.sequence[OpId(1)], MaybeInt(8));
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "text");
  EXPECT_FALSE(trace.ops.external_id[OpId(0)].has_value());
}

TEST_F(TableRowsTest, UnsoundRowsCostTheirChunk) {
  const Cells start{"start_ns", CellType::kInteger, {5}}, end{"end_ns", CellType::kInteger, {6}};
  const Cells thread{"thread", CellType::kRow, {0}};
  const Cells device{"device", CellType::kRow, {0}}, stream{"stream", CellType::kRow, {0}};
  const std::vector<std::pair<const char*, std::string>> chunks = {
      {"no such thread", chunk_of("ops", {start, end, {"thread", CellType::kRow, {1}}})},
      {"no thread", chunk_of("ops", {start, end})},
      {"end before start", chunk_of("ops", {{"start_ns", CellType::kInteger, {7}}, end, thread})},
      {"a time that overflows", chunk_of("calls", {{"start_ns", CellType::kInteger, {1}},
                                                   {"end_ns", CellType::kInteger, {9'000'000'000'000'000'000}},
                                                   thread})},
      {"no such stream", chunk_of("gpu_events", {start, end, device, {"stream", CellType::kRow, {1}}})},
      {"a stream of another device", chunk_of("gpu_events", {start, end, {"device", CellType::kRow, {1}}, stream})},
      {"no such kind", chunk_of("gpu_events", {start, end, device, stream, {"kind", CellType::kInteger, {3}}})},
      {"no such fault", chunk_of("gpu_events", {start, end, device, stream, {"fault", CellType::kInteger, {9}}})},
      {"a number its column cannot hold",
       chunk_of("gpu_events", {start, end, device, stream, {"grid_x", CellType::kInteger, {1LL << 40}}})},
      {"no such collective", chunk_of("gpu_events", {start, end, device, stream, {"collective", CellType::kRow, {0}}})},
      {"a process that is none", chunk_of("threads", {{"process", CellType::kRow, {4}}}, 1)},
      {"threads after a lost chunk", chunk_of("threads", {{"process", CellType::kRow, {0}}}, 7)},
      {"rows that were there already", chunk_of("processes", {{"key", CellType::kString, {1}}}, 0)},
  };
  for (const auto& [name, chunk] : chunks) EXPECT_FALSE(rows_.take(chunk)) << name;
  const Trace trace = finish();
  EXPECT_EQ(trace.info.event_count, 0U);
  EXPECT_EQ(trace.threads.size(), 1U);
}

TEST_F(TableRowsTest, TablesOfTomorrowAreCounted) {
  EXPECT_TRUE(rows_.take(chunk_of("whispers", {{"x", CellType::kInteger, {1}}})));
  EXPECT_EQ(rows_.unknown_count(), 1U);
}

}  // namespace
}  // namespace stepscope::capture_format
