// The text itself: one small trace against what stands in the file, and what the writing costs in memory. That it reads
// back is tested in tests/export.
#include "export/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/trace_from_text.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

std::string text_of(const Trace& trace, const ChromeMetadata& metadata = {}) {
  std::string text;
  const Status written = write_chrome_trace(
      trace,
      [&](std::string_view piece) -> Status {
        text += piece;
        return Done{};
      },
      metadata);
  EXPECT_TRUE(written.has_value());
  return text;
}

Trace small_trace() {
  return trace_from_text(R"(
    op        [linear          ]
    call         [L1]
    gpu/7            [K1====]
    where
      linear = aten::linear ext 5
      L1 = cudaLaunchKernel corr 1 ext 5
      K1 = gemm corr 1 ext 5
  )");
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(ChromeTrace, EventsStandAsPyTorchWritesThem) {
  const std::string text = text_of(small_trace());
  expect_in(text, "  \"traceEvents\": [\n  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ");
  expect_in(text, R"(
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": )");
  expect_in(text, R"(,
    "args": {
      "External id": 5
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": )");
  expect_in(text, R"("pid": 0, "tid": 7,
    "ts": )");
  expect_in(text, R"(,
    "args": {
      "External id": 5, "device": 0, "stream": 7, "correlation": 1
    }
  })");
  EXPECT_TRUE(text.ends_with("\n  ],\n  \"traceName\": \"\"\n}\n"));
}

// A capture has no such numbers of its own: tools join an operator with its call and its kernel by them.
TEST(ChromeTrace, ACapturesOperatorsCallsAndKernelsAreJoinedByNumber) {
  Trace trace = trace_from_text(R"(
    op        [outer           ]
    op         [linear       ]    [other]
    call         [L1]
    gpu/7            [K1====]  [K2=]
    where
      linear = aten::linear
      L1 = cudaLaunchKernel corr 1
      K1 = gemm corr 1
  )");
  const auto id = [](int number) { return "\"External id\": " + std::to_string(number); };
  EXPECT_EQ(text_of(trace).find("External id"), std::string::npos) << "of other recordings nothing is made up";
  trace.info.producer = "capture";
  const std::string text = text_of(trace);
  for (const int number : {1, 2, 3}) expect_in(text, id(number));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(id(2), at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U);  // the operator, its call, its kernel; K2 is nobody's
  EXPECT_EQ(text.find(id(4)), std::string::npos);
}

TEST(ChromeTrace, AnEmptyTraceIsADocument) {
  const std::string text = text_of(Builder().finish(1));
  expect_in(text, "\"schemaVersion\": 1");
  expect_in(text, "\"traceEvents\": [\n  ],");
}

// Outer rows before inner ones of the same start, whatever their tables: viewers nest by the order in the file.
TEST(ChromeTrace, KeysOfTheUserStandBesideItsOwn) {
  Trace trace = small_trace();
  trace.info.rank = 1;
  expect_in(text_of(trace), R"("distributedInfo": {"rank": 1})");
  const std::string text = text_of(trace, {{"run \"7\"", R"({"lr": [1, 2]})"}, {"distributedInfo", R"({"rank": 3})"}});
  expect_in(text, "\n  \"run \\\"7\\\"\": {\"lr\": [1, 2]},\n");
  expect_in(text, R"("distributedInfo": {"rank": 3},)");
  EXPECT_EQ(text.find(R"({"rank": 1})"), std::string::npos);
}

TEST(ChromeTrace, ProcessGroupsAreWrittenAsTorchDoes) {
  Trace trace = small_trace();
  trace.info.process_groups = {{"0", "default_pg", "cuda:nccl", 2, {0, 1}}, {"1", "", "", {}, {}}};
  expect_in(text_of(trace), R"("distributedInfo": {"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", )"
                            R"("backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}, {"pg_name": "1"}]},)");
}

TEST(ChromeTrace, KeysThatWouldBreakTheFileAreRefused) {
  const Trace trace = small_trace();
  for (const ChromeMetadata& wrong : std::initializer_list<ChromeMetadata>{
           {{"traceEvents", "[]"}}, {{"stepscope", "1"}}, {{"k", "{"}}, {{"k", ""}}, {{"k", "1"}, {"k", "2"}}}) {
    bool has_written = false;
    const Status written = write_chrome_trace(
        trace,
        [&](std::string_view) -> Status {
          has_written = true;
          return Done{};
        },
        wrong);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(has_written);
  }
}

TEST(ChromeTrace, StepsStandBeforeTheOperatorsTheyContain) {
  Fragment fragment;
  const ThreadId thread = fragment.thread("1", "1");
  Ops::Row op;
  op.end_ns = 1000;
  op.thread = thread;
  op.name = fragment.strings.intern("inner");
  fragment.ops.push_back(op);
  Spans::Row step;
  step.end_ns = 2000;
  step.thread = thread;
  step.name = fragment.strings.intern("outer");
  fragment.spans.push_back(step);
  step.end_ns = 1000;
  step.name = fragment.strings.intern("label");
  fragment.spans.push_back(step);
  Builder builder;
  builder.add(std::move(fragment));
  const std::string text = text_of(builder.finish(1));
  EXPECT_LT(text.find("\"outer\""), text.find("\"label\""));
  EXPECT_LT(text.find("\"label\""), text.find("\"inner\""));
}

TEST(ChromeTrace, PiecesStayOfOneSize) {
  Fragment fragment;
  for (int i = 0; i < 50'000; ++i) {
    Spans::Row row;
    row.start_ns = i;
    row.end_ns = i + 1;
    row.thread = fragment.thread("1", "1");
    row.name = fragment.strings.intern("a span with a name of some length");
    fragment.spans.push_back(row);
  }
  Builder builder;
  builder.add(std::move(fragment));
  std::size_t largest = 0;
  std::size_t whole = 0;
  const Status written = write_chrome_trace(builder.finish(1), [&](std::string_view piece) -> Status {
    largest = std::max(largest, piece.size());
    whole += piece.size();
    return Done{};
  });
  ASSERT_TRUE(written.has_value());
  EXPECT_GT(whole, 5U << 20);
  EXPECT_LE(largest, 1U << 20);
}

TEST(ChromeTrace, AFailedSinkEndsTheWriting) {
  Fragment fragment;
  for (int i = 0; i < 50'000; ++i) {
    Spans::Row row;
    row.thread = fragment.thread("1", "1");
    fragment.spans.push_back(row);
  }
  Builder builder;
  builder.add(std::move(fragment));
  int asked = 0;
  const Status written = write_chrome_trace(builder.finish(1), [&](std::string_view) -> Status {
    ++asked;
    return Error{ErrorCode::kIo, "no room", ""};
  });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().message, "no room");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace stepscope
