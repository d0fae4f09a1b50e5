// Arrow tables: what a receiver sees, what it may keep, and that everything is released.
#include "export/arrow_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "export/arrow_trace.h"

namespace stepscope {
namespace {

// What a receiver of a stream does.
struct Received {
  ArrowSchema schema{};
  ArrowArray batch{};

  explicit Received(const std::shared_ptr<const ArrowTable>& table) {
    ArrowArrayStream stream{};
    export_stream(table, &stream);
    EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    ArrowArray end{};
    EXPECT_EQ(stream.get_next(&stream, &end), 0);
    EXPECT_EQ(end.release, nullptr);
    stream.release(&stream);
    EXPECT_EQ(stream.release, nullptr);
  }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ~Received() {
    if (schema.release != nullptr) schema.release(&schema);
    if (batch.release != nullptr) batch.release(&batch);
  }
  template <class T>
  [[nodiscard]] const T* values(std::size_t column) const {
    return static_cast<const T*>(batch.children[column]->buffers[1]);
  }
  [[nodiscard]] bool is_null(std::size_t column, std::size_t row) const {
    const auto* bitmap = static_cast<const std::uint8_t*>(batch.children[column]->buffers[0]);
    return bitmap != nullptr && (bitmap[row / 8] >> (row % 8) & 1) == 0;
  }
  [[nodiscard]] std::string word(std::size_t column, std::size_t row) const {
    const ArrowArray& dictionary = *batch.children[column]->dictionary;
    const auto index = values<std::uint32_t>(column)[row];
    const auto* offsets = static_cast<const std::int32_t*>(dictionary.buffers[1]);
    const auto* text = static_cast<const char*>(dictionary.buffers[2]);
    return {text + offsets[index], text + offsets[index + 1]};
  }
};

TEST(ArrowTable, NumbersAreSeenWhereTheyLieAndKeptAlive) {
  auto numbers = std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{3, -1, 7});
  const std::weak_ptr<const std::vector<std::int64_t>> watched = numbers;
  ArrowTable table;
  table.columns.push_back(view_numbers<std::int64_t>("start_ns", "ns", *numbers, numbers));
  {
    const Received got(std::make_shared<const ArrowTable>(std::move(table)));
    EXPECT_EQ(got.values<std::int64_t>(0), numbers->data());
    numbers.reset();
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(got.values<std::int64_t>(0)[2], 7);
    EXPECT_STREQ(got.schema.format, "+s");
    EXPECT_STREQ(got.schema.children[0]->format, "l");
    EXPECT_STREQ(got.schema.children[0]->name, "start_ns");
    EXPECT_EQ(got.batch.length, 3);
    EXPECT_EQ(std::string(got.schema.children[0]->metadata + 4 + 4 + 3 + 4, 2), "ns");
  }
  EXPECT_TRUE(watched.expired());
}

TEST(ArrowTable, AChildThatWasMovedOutOutlivesTheBatch) {
  ArrowTable table;
  table.columns.push_back(own_numbers<double>("x", "", {1.5, 2.5}));
  ArrowArray moved{};
  {
    Received got(std::make_shared<const ArrowTable>(std::move(table)));
    moved = *got.batch.children[0];
    got.batch.children[0]->release = nullptr;
  }
  EXPECT_EQ(static_cast<const double*>(moved.buffers[1])[1], 2.5);
  moved.release(&moved);
}

TEST(ArrowTable, WhatIsMissingIsNullAndOnlyThat) {
  const std::vector<MaybeInt> values{1, {}, 0, {}, 5, 6, 7, 8, {}};
  ArrowTable table;
  table.columns.push_back(view_maybe("id", "", values, nullptr));
  const std::vector<std::int64_t> whole{1, 2, 3, 4, 5, 6, 7, 8, 9};
  table.columns.push_back(view_numbers_or_null<std::int64_t>("n", "", whole, -1, nullptr));
  const Received got(std::make_shared<const ArrowTable>(std::move(table)));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(got.is_null(0, i), !values[i].has_value()) << i;
  EXPECT_EQ(got.batch.children[0]->null_count, 3);
  EXPECT_EQ(got.batch.children[1]->buffers[0], nullptr);
}

TEST(ArrowTable, TextIsValidUtf8) {
  ArrowTable table;
  table.columns.push_back(own_text("name", "",
                                   {"a", "",
                                    "b\xff"
                                    "c",
                                    std::string_view("d\0e", 3)}));
  const Received got(std::make_shared<const ArrowTable>(std::move(table)));
  const auto* offsets = got.values<std::int32_t>(0);
  const auto* text = static_cast<const char*>(got.batch.children[0]->buffers[2]);
  EXPECT_EQ(std::string(text, text + offsets[4]), std::string("ab\xEF\xBF\xBD"
                                                              "cd\0e",
                                                              9));
  EXPECT_EQ(offsets[1], offsets[2]);
}

TEST(ArrowTable, NoRowsAndNoColumnsAreFine) {
  ArrowTable empty;
  empty.columns.push_back(own_text("name", "", {}));
  empty.columns.push_back(own_numbers<std::int64_t>("n", "", {}));
  const Received got(std::make_shared<const ArrowTable>(std::move(empty)));
  EXPECT_EQ(got.batch.length, 0);
  EXPECT_NE(got.batch.children[0]->buffers[1], nullptr);
  const Received none(std::make_shared<const ArrowTable>());
  EXPECT_EQ(none.batch.n_children, 0);
}

TEST(ArrowTrace, EveryTableHasItsColumnsAndKeepsTheTrace) {
  auto trace = std::make_shared<Trace>();
  Ops::Row op;
  op.start_ns = 10;
  op.end_ns = 30;
  op.thread = ThreadId(0);
  op.name = trace->strings.intern("aten::mm");
  trace->ops.push_back(op);
  Calls::Row call;
  call.kind = ApiKind::kDeviceSync;
  trace->calls.push_back(call);
  const std::weak_ptr<Trace> watched = trace;
  const ArrowTrace tables(trace);
  trace.reset();
  for (const std::string_view name : ArrowTrace::names()) {
    const auto table = tables.table(name);
    ASSERT_TRUE(table) << name;
    const Received got(*table);
    EXPECT_GT(got.batch.n_children, 0) << name;
  }
  const Received ops(*tables.table("ops"));
  EXPECT_STREQ(ops.schema.children[3]->name, "name");
  EXPECT_EQ(ops.word(3, 0), "aten::mm");
  EXPECT_TRUE(ops.is_null(11, 0));  // flops
  EXPECT_TRUE(ops.is_null(13, 0));  // parent
  const Received calls(*tables.table("calls"));
  EXPECT_EQ(calls.values<std::uint8_t>(4)[0], static_cast<std::uint8_t>(ApiKind::kDeviceSync));
  EXPECT_FALSE(watched.expired());
}

TEST(ArrowTrace, AWrongNameIsToldTheRightOnes) {
  const ArrowTrace tables(std::make_shared<const Trace>());
  const auto table = tables.table("kernels");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("gpu_events"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
