// Phases and categories that the recorded traces do not have, and the layouts of other writers.
#include <gtest/gtest.h>

#include <cmath>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"

namespace stepscope {
namespace {

Trace read_events(const std::string& events) {
  const auto source = bytes_of("[" + events + "]");
  Result<std::vector<Trace>> traces = chrome_json::read(*source, "text", {.threads = 1, .progress = {}});
  if (!traces) {
    ADD_FAILURE() << traces.error().to_string();
    return {};
  }
  return std::move(traces->front());
}

std::string event(const std::string& fields) { return "{" + fields + R"(, "pid": 1, "tid": 2})"; }

TEST(Rows, BeginAndEndMakeOne) {
  const Trace trace = read_events(event(R"("ph": "B", "cat": "cpu_op", "name": "outer", "ts": 1)") + "," +
                                  event(R"("ph": "B", "cat": "cpu_op", "name": "inner", "ts": 2)") + "," +
                                  event(R"("ph": "E", "ts": 3)") + "," + event(R"("ph": "E", "ts": 5)"));
  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "outer");
  EXPECT_EQ(trace.ops.end_ns[OpId(0)], 5000);
  EXPECT_EQ(trace.ops.end_ns[OpId(1)], 3000);
  EXPECT_EQ(trace.ops.parent[OpId(1)], OpId(0));
  EXPECT_TRUE(trace.notes.all().empty());
}

TEST(Rows, APhaseIsALetterOrSign) {
  for (const std::string phase : {"\b", "\xff", " ", "XX", "\\\""}) {
    const Trace trace = read_events(event(R"("name": "a", "ts": 1, "ph": ")" + phase + "\"") + "," +
                                    event(R"("ph": "(", "name": "b", "ts": 2)"));
    EXPECT_EQ(trace.other_events.size(), 1U) << phase;
    EXPECT_EQ(trace.notes.count(NoteKind::kMissingField), 1U) << phase;
  }
}

TEST(Rows, UnmatchedBeginsAreNoted) {
  const Trace trace =
      read_events(event(R"("ph": "E", "ts": 1)") + "," + event(R"("ph": "B", "name": "open", "ts": 2)"));
  EXPECT_EQ(trace.notes.count(NoteKind::kUnmatchedBegin), 2U);
  ASSERT_EQ(trace.other_events.size(), 1U);
  EXPECT_EQ(trace.other_events.phase[OtherEventId(0)], 'B');
}

TEST(Rows, AsynchronousPairsAreSpans) {
  const Trace trace = read_events(event(R"("ph": "b", "cat": "c", "id": "0x1", "name": "wait", "ts": 1)") + "," +
                                  event(R"("ph": "b", "cat": "c", "id": "0x2", "name": "wait", "ts": 2)") + "," +
                                  event(R"("ph": "e", "cat": "c", "id": "0x1", "name": "wait", "ts": 9)") + "," +
                                  event(R"("ph": "e", "cat": "c", "id": "0x2", "name": "wait", "ts": 4)"));
  ASSERT_EQ(trace.spans.size(), 2U);
  EXPECT_EQ(trace.spans.end_ns[SpanId(0)], 9000);
  EXPECT_EQ(trace.spans.end_ns[SpanId(1)], 4000);
  EXPECT_EQ(trace.spans.is_async[SpanId(0)], 1);
}

TEST(Rows, CountersHaveARowForEachSeries) {
  const Trace trace =
      read_events(event(R"("ph": "C", "name": "util", "ts": 1, "args": {"a": 1.5, "b": nan, "c": "x"})") + "," +
                  event(R"("ph": "C", "name": "util", "ts": 2)"));
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_EQ(trace.counters.value[CounterId(0)], 1.5);
  EXPECT_TRUE(std::isnan(trace.counters.value[CounterId(1)]));
}

TEST(Rows, FlowsKeepIdsOfAnyKind) {
  const Trace trace = read_events(
      event(R"("ph": "s", "cat": "f", "name": "f", "ts": 1, "id": 7)") + "," +
      event(R"("ph": "f", "cat": "f", "name": "f", "ts": 1, "id": "0x7f")") + "," +
      event(R"("ph": "f", "cat": "f", "name": "f", "ts": 1, "id": 340282366920938463463374607431768211455)"));
  ASSERT_EQ(trace.flows.size(), 3U);
  EXPECT_EQ(trace.flows.id[FlowId(0)], 7U);
  EXPECT_EQ(trace.text(trace.flows.id_text[FlowId(1)]), "0x7f");
  EXPECT_EQ(trace.text(trace.flows.id_text[FlowId(2)]), "340282366920938463463374607431768211455");
}

TEST(Rows, CategoriesOfOtherYearsAndVendors) {
  auto complete = [](const std::string& category) {
    return event(R"("ph": "X", "cat": ")" + category + R"(", "name": "n", "ts": 1, "dur": 1)");
  };
  std::string events;
  for (const char* category : {"Operator", "Runtime", "xpu_runtime", "privateuse1_driver", "Kernel", "Memcpy", "Memset",
                               "cuda_sync", "overhead"}) {
    if (!events.empty()) events += ",";
    events += complete(category);
  }
  const Trace trace = read_events(events);
  EXPECT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.calls.size(), 3U);
  EXPECT_EQ(trace.gpu_events.size(), 3U);
  EXPECT_EQ(trace.gpu_spans.size(), 1U);
  EXPECT_EQ(trace.other_events.size(), 1U);
  EXPECT_TRUE(trace.notes.all().empty());
  const Trace unknown = read_events(complete("made_up"));
  EXPECT_EQ(unknown.other_events.size(), 1U);
  EXPECT_EQ(unknown.notes.count(NoteKind::kUnknownCategory), 1U);
}

TEST(Rows, KeysInAnyOrderAndAnyLayout) {
  const Trace trace = read_events(
      "\r\n{\r\n \"args\" : {\"External id\" : \"12\"} ,\t\"dur\":1,\"ts\":\"2.5\",\"name\":\"\\u0041\","
      "\"cat\":\"cpu_op\",\"tid\":2,\"pid\":1,\"ph\":\"X\"}\r\n");
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "A");
  EXPECT_EQ(trace.ops.start_ns[OpId(0)], 2500);
  EXPECT_EQ(trace.ops.external_id[OpId(0)], MaybeInt(12));
}

TEST(Rows, OddArguments) {
  for (const char* args : {"null", "[]", "\"text\"", "{}", "7"}) {
    const Trace trace = read_events(
        event(R"("ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": )" + std::string(args)));
    EXPECT_EQ(trace.gpu_events.size(), 1U) << args;
  }
}

TEST(Rows, MissingFields) {
  EXPECT_EQ(read_events(event(R"("ph": "X", "cat": "cpu_op", "name": "n", "dur": 1)") + "," +
                        event(R"("ph": "X", "cat": "cpu_op", "name": "n", "ts": 1, "dur": 1)"))
                .notes.count(NoteKind::kMissingField),
            1U);
  const Trace trace = read_events(event(R"("ph": "X", "cat": "cpu_op", "name": "n", "ts": 1)"));
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.ops.end_ns[OpId(0)], 1000);
  EXPECT_FALSE(trace.notes.lost_anything());
}

TEST(Rows, ManyProcessesAndDevicesAreNoTrouble) {
  std::string events;
  for (int i = 0; i < 30000; ++i) {
    const std::string number = std::to_string(i);
    events += (i == 0 ? "" : ",") + std::string(R"({"ph":"X","cat":"cpu_op","name":"n","ts":1,"dur":1,"pid":)") +
              number + R"(,"tid":1},{"ph":"X","cat":"kernel","name":"n","ts":1,"dur":1,"pid":)" + number +
              R"(,"tid":1})";
  }
  const Trace trace = read_events(events);
  EXPECT_EQ(trace.processes.size(), 30000U);
  EXPECT_EQ(trace.devices.size(), 30000U);
}

// What only files of our own writer carry (docs/formats/chrome-trace.md).
Trace read_own(const std::string& own, const std::string& events) {
  const auto source = bytes_of("{\"stepscope\": " + own + ", \"traceEvents\": [" + events + "]}");
  Result<std::vector<Trace>> traces = chrome_json::read(*source, "text", {.threads = 1, .progress = {}});
  if (!traces) {
    ADD_FAILURE() << traces.error().to_string();
    return {};
  }
  return std::move(traces->front());
}

const std::string kTwoThreads = R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 1},)"
                                R"({"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 3, "ts": 1, "dur": 1})";

TEST(Rows, OwnFilesSayTheOrderOfPlaces) {
  const Trace trace = read_own(R"({"threads": [["1", "3"], ["1", "2"]], "streams": [[0, "9"]]})", kTwoThreads);
  ASSERT_EQ(trace.threads.size(), 2U);
  EXPECT_EQ(trace.text(trace.threads.key[ThreadId(0)]), "3");
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "b");
  EXPECT_EQ(trace.text(trace.streams.key[StreamId(0)]), "9");
}

TEST(Rows, OwnFilesCarryNotesOnce) {
  const std::string unknown = R"({"ph": "X", "cat": "new", "name": "c", "pid": 1, "tid": 2, "ts": 1, "dur": 1},)";
  const std::string own =
      R"({"notes": [{"kind": "file_cut", "severity": "lost", "count": 1, "first_offset": 7, "example": "cut \"here\""},)"
      R"({"kind": "unknown_category", "severity": "info", "count": 1, "first_offset": 5, "example": "new"}]})";
  const Trace once = read_own(own, unknown + kTwoThreads);
  ASSERT_EQ(once.notes.all().size(), 2U);
  EXPECT_TRUE(once.notes.lost_anything());
  EXPECT_EQ(once.notes.all()[0].example, "cut \"here\"");
  EXPECT_EQ(once.notes.all()[0].first_offset, 7U);
  EXPECT_EQ(once.notes.count(NoteKind::kUnknownCategory), 1U) << "found again, and the same";
  EXPECT_EQ(once.notes.all()[1].first_offset, 5U);
  const Trace twice = read_own(own, unknown + unknown + kTwoThreads);
  EXPECT_EQ(twice.notes.count(NoteKind::kUnknownCategory), 2U) << "one more than the source had";
}

TEST(Rows, OwnKeysThatMakeNoSenseAreIgnored) {
  for (const char* own : {"1", "[]", "{}", R"({"threads": 1, "streams": {}, "notes": "x"})",
                          R"({"threads": [1, [], ["1"], [{}, {}], null], "streams": [["x"], "y"]})",
                          R"({"notes": [1, {}, {"kind": "new_kind", "severity": "lost", "count": 1},)"
                          R"( {"kind": "file_cut", "severity": "dire", "count": 1},)"
                          R"( {"kind": "file_cut", "severity": "lost", "count": -1}]})"}) {
    const Trace trace = read_own(own, kTwoThreads);
    EXPECT_EQ(trace.ops.size(), 2U) << own;
    EXPECT_TRUE(trace.notes.all().empty()) << own;
  }
}

TEST(Rows, ListsInQuotesAreLists) {
  const Trace trace = read_events(event(
      R"("ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {"Input Dims": "[[inf, \"x\"]]", "Input type": [1]})"));
  EXPECT_EQ(trace.text(trace.ops.shapes[OpId(0)]), "[[inf, \"x\"]]");
  EXPECT_EQ(trace.text(trace.ops.types[OpId(0)]), "[1]");
}

TEST(Rows, NullIsACountersNoValue) {
  const Trace trace = read_events(event(R"("ph": "C", "name": "util", "ts": 1, "args": {"a\"b": null, "c": true})"));
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_TRUE(std::isnan(trace.counters.value[CounterId(0)]));
  EXPECT_EQ(trace.text(trace.counters.series[CounterId(0)]), "a\"b");
}

}  // namespace
}  // namespace stepscope
