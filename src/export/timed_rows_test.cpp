// Rows of a thread in order of containment, and lanes in which every end is that of the row begun last.
#include "export/timed_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "export/json_text.h"
#include "export/proto_writer.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// "lane0: a( b( )b )a" as text; names are row numbers.
struct Drawing {
  std::string text;
  std::vector<std::uint32_t> open;
  std::vector<TimeNs> ends;
  void begin_lane(std::size_t lane) { (text += std::string(1, '|').append(std::to_string(lane))) += ':'; }
  void begin(const TimedRow& row) {
    (text += std::string(1, ' ').append(std::to_string(row.row))) += '(';
    open.push_back(row.row);
  }
  void end(const TimedRow& row, TimeNs end_ns) {
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.back(), row.row);
    open.pop_back();
    ends.push_back(end_ns);
    text += std::string(" )").append(std::to_string(row.row));
  }
  void end_lane(std::size_t) { EXPECT_TRUE(open.empty()); }
};

TEST(TimedRows, ParentsComeBeforeChildrenAcrossTables) {
  const Trace trace = trace_from_text(R"(
    span      [forward         ]
    py        [train.py        ]
    op        [linear   ]
    call         [L1]
  )");
  const std::vector<TimedRow> rows = rows_of_thread(trace, thread_named(trace, "main"));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].table, RowTable::kSpan);
  EXPECT_EQ(rows[1].table, RowTable::kFrame);
  EXPECT_EQ(rows[2].table, RowTable::kOp);
  EXPECT_EQ(rows[3].table, RowTable::kCall);
  EXPECT_EQ(trace.text(rows[3].name(trace)), "L1");
}

TEST(TimedRows, NestedRowsAreOneLane) {
  Drawing drawing;
  for_each_lane({{0, 100, 0}, {0, 40, 1}, {10, 20, 2}, {40, 100, 3}, {100, 100, 4}, {100, 130, 5}}, drawing);
  EXPECT_EQ(drawing.text, "|0: 0( 1( 2( )2 )1 3( )3 )0 4( )4 5( )5");
}

TEST(TimedRows, WhatOverlapsInPartIsInTheNextLane) {
  Drawing drawing;
  for_each_lane({{0, 100, 0}, {50, 150, 1}, {60, 70, 2}, {120, 160, 3}}, drawing);
  EXPECT_EQ(drawing.text, "|0: 0( 2( )2 )0 3( )3|1: 1( )1");
}

TEST(TimedRows, ManyOverlapsEndInTheLastLaneCut) {
  std::vector<TimedRow> rows;
  constexpr std::uint32_t kCount = 200;
  for (std::uint32_t i = 0; i < kCount; ++i) rows.push_back({i, 1000 + TimeNs{i}, i});
  Drawing drawing;
  for_each_lane(rows, drawing);
  EXPECT_EQ(drawing.ends.size(), kCount);
  EXPECT_NE(drawing.text.find(std::string("|").append(std::to_string(kMostLanes - 1))), std::string::npos);
  EXPECT_EQ(drawing.text.find(std::string("|").append(std::to_string(kMostLanes))), std::string::npos);
}

TEST(ProtoMessage, BytesAreThoseOfTheWireFormat) {
  ProtoMessage message;
  message.put_integer(1, 150);
  message.put_bytes(2, "ab");
  message.put_fixed64(47, 1);
  EXPECT_EQ(message.bytes(), std::string_view("\x08\x96\x01\x12\x02"
                                              "ab\xf9\x02\x01\0\0\0\0\0\0\0",
                                              17));
}

TEST(AppendValidUtf8, BrokenPiecesAreReplacedAndAllElseIsKept) {
  std::string text;
  append_valid_utf8("a\"\n\xff\xe2\x82z\xe2\x82\xac", text);
  EXPECT_EQ(text, "a\"\n\xef\xbf\xbd\xef\xbf\xbdz\xe2\x82\xac");
}

}  // namespace
}  // namespace stepscope
