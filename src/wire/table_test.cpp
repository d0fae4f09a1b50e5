// Columns through their writer and reader, and what no writer writes.
#include "wire/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope::wire {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string example() {
  TableWriter writer;
  writer.begin("things", 100, 3);
  writer.begin_column("time", CellType::kInteger);
  for (const std::int64_t number : {kMost, kLeast, std::int64_t{5}}) writer.integer(number);
  writer.end_column();
  writer.begin_column("size", CellType::kMaybeInteger);
  for (const MaybeInt number : {MaybeInt(kMost), MaybeInt(), MaybeInt(-kMost)}) writer.maybe(number);
  writer.end_column();
  writer.begin_column("name", CellType::kString);
  for (const WireString number : {0U, 4'000'000'000U, 7U}) writer.string(number);
  writer.end_column();
  writer.begin_column("value", CellType::kReal);
  for (const double number : {0.0, -2.5, std::numeric_limits<double>::infinity()}) writer.real(number);
  writer.end_column();
  writer.begin_column("owner", CellType::kRow);
  writer.row(std::nullopt);
  writer.row(0);
  writer.row(4'294'967'294U);
  writer.end_column();
  return std::string(writer.finish());
}

TEST(Table, ColumnsComeBack) {
  const std::string payload = example();
  TableReader reader;
  ASSERT_TRUE(reader.open(payload));
  EXPECT_EQ(reader.name(), "things");
  EXPECT_EQ(reader.first_row(), 100U);
  EXPECT_EQ(reader.rows(), 3U);
  auto time = reader.column("time", CellType::kInteger);
  ASSERT_TRUE(time.has_value());
  for (const std::int64_t number : {kMost, kLeast, std::int64_t{5}}) EXPECT_EQ(time->integer(), number);
  EXPECT_FALSE(time->failed());
  auto size = reader.column("size", CellType::kMaybeInteger);
  for (const MaybeInt number : {MaybeInt(kMost), MaybeInt(), MaybeInt(-kMost)}) EXPECT_EQ(size->maybe(), number);
  auto name = reader.column("name", CellType::kString);
  for (const WireString number : {0U, 4'000'000'000U, 7U}) EXPECT_EQ(name->string(), number);
  auto value = reader.column("value", CellType::kReal);
  for (const double number : {0.0, -2.5, std::numeric_limits<double>::infinity()}) EXPECT_EQ(value->real(), number);
  auto owner = reader.column("owner", CellType::kRow);
  EXPECT_FALSE(owner->row().has_value());
  EXPECT_EQ(owner->row(), 0U);
  EXPECT_EQ(owner->row(), 4'294'967'294U);
  EXPECT_FALSE(owner->failed());
}

TEST(Table, ColumnsOfOtherNamesAndTypesAreNotFound) {
  const std::string payload = example();
  TableReader reader;
  ASSERT_TRUE(reader.open(payload));
  EXPECT_FALSE(reader.column("times", CellType::kInteger).has_value());
  EXPECT_FALSE(reader.column("time", CellType::kReal).has_value());
}

TEST(Table, CellsThatAreNotThereFail) {
  const std::string payload = example();
  TableReader reader;
  ASSERT_TRUE(reader.open(payload));
  auto time = reader.column("time", CellType::kInteger);
  for (int i = 0; i < 3; ++i) (void)time->integer();
  EXPECT_EQ(time->integer(), 0);
  EXPECT_TRUE(time->failed());
  auto value = reader.column("value", CellType::kReal);
  for (int i = 0; i < 4; ++i) (void)value->real();
  EXPECT_TRUE(value->failed());
}

// Only a faulty writer makes one (the chunk's checksum held): it has no rows, or cells that fail.
TEST(Table, EveryPrefixIsSurvived) {
  const std::string payload = example();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    TableReader reader;
    if (!reader.open(std::string_view(payload).substr(0, size)) || reader.rows() == 0) continue;
    auto last = reader.column("owner", CellType::kRow);
    for (int i = 0; last && i < 3; ++i) (void)last->row();
    EXPECT_TRUE(!last || last->failed()) << size;
  }
}

TEST(Table, MoreRowsThanBytesAreRefused) {
  TableWriter writer;
  writer.begin("things", 0, 4'000'000'000U);
  TableReader reader;
  const std::string payload(writer.finish());
  EXPECT_FALSE(reader.open(payload));
}

}  // namespace
}  // namespace stepscope::wire
