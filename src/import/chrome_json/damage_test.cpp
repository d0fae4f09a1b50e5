// One test a kind of damage, each with sound events around it that must all be kept.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"

namespace stepscope {
namespace {

Result<std::vector<Trace>> read_text(std::string text) {
  const auto source = bytes_of(std::move(text));
  return chrome_json::read(*source, "text", {.threads = 1, .progress = {}});
}

std::string frame(const std::string& name, int ts = 50) {
  return R"({"ph": "X", "cat": "python_function", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" +
         std::to_string(ts) + R"(.000, "dur": 1.000, "args": {"Python id": 1}})";
}

std::string kernel(int ts) {
  return R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": )" + std::to_string(ts) +
         R"(.000, "dur": 2.000, "args": {"device": 0, "stream": 7, "correlation": 1, "grid": [4, 1, 1]}})";
}

std::string document(const std::string& events) {
  return "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n" + events + "\n  ],\n  \"traceName\": \"t\"\n}\n";
}

// The text between two sound kernels, in a document.
Trace between(const std::string& text, std::size_t traces_expected = 1) {
  Result<std::vector<Trace>> traces = read_text(document("  " + kernel(10) + ",\n  " + text + ",\n  " + kernel(90)));
  if (!traces) {
    ADD_FAILURE() << traces.error().to_string();
    return {};
  }
  EXPECT_EQ(traces->size(), traces_expected);
  EXPECT_EQ(traces->front().gpu_events.size(), 2U) << "a sound event is lost";
  EXPECT_EQ(traces->front().info.trace_name, "t") << "what stands behind the events is lost";
  return std::move(traces->front());
}

std::string notes_of(const Trace& trace) {
  std::string text;
  for (const Note& note : trace.notes.all()) {
    text += std::string(note_kind_name(note.kind)) + "/" + std::string(note_severity_name(note.severity)) + "/" +
            std::to_string(note.count) + " ";
  }
  return text;
}

std::string only_frame(const Trace& trace) {
  EXPECT_EQ(trace.frames.size(), 1U);
  return trace.frames.empty() ? "" : std::string(trace.text(trace.frames.name[FrameId(0)]));
}

TEST(Damage, ControlCharactersAndForeignBytesInNamesAreKept) {
  for (const std::string& name :
       {std::string("a\nb"), std::string("a\tb"), std::string("a\xff\xfe"), std::string("a\0b", 3)}) {
    const Trace trace = between(frame(name));
    EXPECT_EQ(only_frame(trace), name);
    EXPECT_EQ(notes_of(trace), "control_character/recovered/1 ");
  }
}

TEST(Damage, EscapedControlCharactersAreNone) {
  const Trace trace = between(frame("a\\nb\\u0000"));
  EXPECT_EQ(only_frame(trace), std::string_view("a\nb\0", 4));
  EXPECT_EQ(notes_of(trace), "");
}

TEST(Damage, QuotesInNamesAreRestored) {
  for (const std::string name :
       {R"(a "b" c)", R"(")", R"({"x": "y"})", R"(a", "b)", R"("pid": 7)", R"(f("a", "id"))"}) {
    const Trace trace = between(frame(name));
    EXPECT_EQ(only_frame(trace), name);
    EXPECT_EQ(notes_of(trace), "unescaped_quote/recovered/1 ");
  }
}

TEST(Damage, ABackslashBeforeTheClosingQuoteIsRestored) {
  const Trace trace = between(frame(R"(C:\dir\)"));
  EXPECT_EQ(only_frame(trace), R"(C:\dir\)");
}

TEST(Damage, QuotesInArgumentsAreRestored) {
  const Trace trace = between(
      R"({"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 50, "dur": 1, "args": {"Call stack": "a "b" c", "External id": 5}})");
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.text(trace.ops.call_stack[OpId(0)]), R"(a "b" c)");
  EXPECT_EQ(trace.ops.external_id[OpId(0)], MaybeInt(5));
}

TEST(Damage, UnquotedJunkIsNoValue) {
  const Trace trace = between(
      R"({"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 50, "dur": 1, "args": {"x": <object at 0x7f>, "External id": 5}})");
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.ops.external_id[OpId(0)], MaybeInt(5));
  EXPECT_EQ(notes_of(trace), "bare_value/recovered/1 ");
}

TEST(Damage, AnEventThatNeverEndsCostsItselfOnly) {
  for (const std::string cut :
       {R"({"ph": "X", "cat": "cpu)", R"({"ph": "X", "cat": "cpu_op", "name": )", R"({"ph": "X", )",
        R"({"ph": "X", "cat": "cpu_op", "name": "a", "args": {"Input Dims": [[1, 2)"}) {
    const Trace trace = between(cut);
    EXPECT_EQ(trace.notes.count(NoteKind::kDamagedEvent), 1U) << cut;
    EXPECT_TRUE(trace.notes.lost_anything()) << cut;
  }
}

std::string nested(std::size_t depth, const std::string& before = "", const std::string& behind = "") {
  return before +
         R"({"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 50, "dur": 1, "args": {"Input Dims": )" +
         std::string(depth, '[') + std::string(depth, ']') + "}}" + behind;
}

TEST(Damage, AnEventThatNestsTooDeeplyCostsItselfOnlyAndSaysWhere) {
  EXPECT_EQ(between(nested(256)).ops.size(), 1U);
  for (const std::size_t depth : {std::size_t{257}, std::size_t{1000}, std::size_t{100'000}}) {
    const Trace trace = between(nested(depth) + ",\n  " + nested(depth));
    EXPECT_EQ(notes_of(trace), "damaged_event/lost/2 ") << depth << ": and no second writer";
    ASSERT_FALSE(trace.notes.all().empty());
    EXPECT_EQ(trace.notes.all().front().example, "an event nests deeper than 256 levels");
  }
}

TEST(Damage, AFileOfNothingElseSaysThatItNestsTooDeeply) {
  for (const std::string& text : {document(nested(1000)), nested(1000, "[", "]")}) {
    const auto traces = read_text(text);
    ASSERT_FALSE(traces.has_value());
    EXPECT_EQ(traces.error().code, ErrorCode::kDamaged);
    EXPECT_EQ(traces.error().message, "no event could be read: the nesting is deeper than 256 levels");
    const std::size_t first = text.find("[[");
    EXPECT_EQ(traces.error().byte_offset, first + 256 - 2) << "the event and its arguments are two levels";
  }
  const auto cut = read_text(nested(1000, "[").substr(0, 700));
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message, "the file is cut before its first event");
}

TEST(Damage, StrayBracketsAndCommas) {
  EXPECT_TRUE(between(frame("a") + "}").notes.lost_anything());
  EXPECT_TRUE(between(frame("a") + "}}").notes.lost_anything());
  EXPECT_EQ(between(frame("a") + ",,").frames.size(), 1U);
  EXPECT_EQ(between(frame("a") + frame("b", 60)).frames.size(), 2U) << "a comma is missing";
}

TEST(Damage, ImpossibleRanksAreUnknown) {
  const std::string head = R"({"distributedInfo": {"rank": -3, "world_size": 0}, "traceEvents": [)";
  Result<std::vector<Trace>> traces = read_text(head + kernel(10) + "]}");
  ASSERT_TRUE(traces.has_value());
  EXPECT_FALSE(traces->front().info.rank.has_value());
  EXPECT_FALSE(traces->front().info.world_size.has_value());
}

Trace with_groups(const std::string& pg_config) {
  const std::string head = R"({"distributedInfo": {"backend": "nccl", "rank": 1, "pg_config": )" + pg_config +
                           R"(, "world_size": 4}, "traceEvents": [)";
  Result<std::vector<Trace>> traces = read_text(head + kernel(10) + "]}");
  if (!traces) {
    ADD_FAILURE() << traces.error().to_string();
    return {};
  }
  EXPECT_EQ(traces->front().info.rank, 1) << pg_config;
  EXPECT_EQ(traces->front().info.world_size, 4) << pg_config << ": what stands behind the groups is lost";
  EXPECT_EQ(traces->front().gpu_events.size(), 1U) << pg_config;
  return std::move(traces->front());
}

using Groups = std::vector<ProcessGroup>;
const ProcessGroup kEveryone{"0", "default_pg", "cuda:nccl", 4, {0, 1, 2, 3}};

TEST(Damage, ProcessGroupsInAllTheirShapes) {
  const std::string everyone =
      R"({"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 4, "ranks": [0, 1, 2, 3]})";
  const std::string on_demand =
      R"({"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": "4", "ranks": "[0, 1, 2, 3]"})";
  const std::string in_text =
      R"({\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": 4, \"ranks\": [0, 1, 2, 3]})";
  for (const std::string& list :
       {"[" + everyone + "]", "[" + on_demand + "]", "\"[" + in_text + "]\"", "\" [ " + in_text + " ] \""}) {
    const Trace trace = with_groups(list);
    EXPECT_EQ(trace.info.process_groups, Groups{kEveryone}) << list;
    EXPECT_EQ(notes_of(trace), "") << list;
  }
  const Trace two = with_groups("[" + everyone + R"(, {"name": 7, "group_size": 2, "ranks": [], "group_count": 9}])");
  EXPECT_EQ(two.info.process_groups, (Groups{kEveryone, {"7", "", "", 2, {}}})) << "torch before 2.4";
  EXPECT_EQ(notes_of(two), "");
}

TEST(Damage, ProcessGroupsOfWhichLittleIsKnownAreNoDamage) {
  for (const char* list : {"[]", "null", R"("")", R"("[]")", R"(" [ ] ")"}) {
    const Trace trace = with_groups(list);
    EXPECT_EQ(trace.info.process_groups, Groups{}) << list;
    EXPECT_EQ(notes_of(trace), "") << list;
  }
  const Trace trace = with_groups(
      R"([{"pg_name": "3", "pg_desc": null, "pg_size": 64, "ranks": "[0, 1, ..., 63]"}, {"pg_name": "4", "ranks": []}])");
  EXPECT_EQ(trace.info.process_groups, (Groups{{"3", "", "", 64, {}}, {"4", "", "", {}, {}}}));
  EXPECT_EQ(notes_of(trace), "") << "torch cuts long lists";
}

TEST(Damage, ProcessGroupsThatCannotBeAreUnknownAndNoted) {
  const ProcessGroup named{"5", "", "", {}, {}};
  for (const auto& [list, kept] : std::initializer_list<std::pair<std::string, Groups>>{
           {"5", {}},
           {"true", {}},
           {R"("groups")", {}},
           {R"({"pg_name": "5"})", {}},
           {"[5]", {}},
           {"[[]]", {}},
           {R"(["0"])", {}},
           {"[{}]", {}},
           {R"([{"pg_name": [1]}])", {}},
           {R"([{"pg_name": "5" "ranks": [0]}])", {}},
           {R"("[{\"pg_name\": \"5\"}")", {named}},
           {R"("[{\"pg_name\": \"5")", {}},
           {R"([{"pg_name": "5", "pg_size": 0}])", {named}},
           {R"([{"pg_name": "5", "pg_size": -4}])", {named}},
           {R"([{"pg_name": "5", "pg_size": [4]}])", {named}},
           {R"([{"pg_name": "5", "ranks": [0, -1]}])", {named}},
           {R"([{"pg_name": "5", "ranks": [0, 0]}])", {named}},
           {R"([{"pg_name": "5", "ranks": [0, 99999999999999999999]}])", {named}},
           {R"([{"pg_name": "5", "ranks": [[0], [1]]}])", {named}},
           {R"([{"pg_name": "5", "ranks": {"0": 0}}])", {named}},
           {R"([{"pg_name": "5", "ranks": 3}])", {named}},
           {R"([{"pg_name": "5", "pg_size": 3, "ranks": [0, 1]}])", {named}},
       }) {
    const Trace trace = with_groups(list);
    EXPECT_EQ(trace.info.process_groups, kept) << list;
    EXPECT_EQ(notes_of(trace), "bad_process_group/recovered/1 ") << list;
  }
}

TEST(Damage, ListsOfProcessGroupsMayBeLongButNotEndless) {
  // 1.2 MB: longer than any list inside an event may be.
  std::string ranks = "0";
  for (int rank = 1; rank < 150'000; ++rank) ranks += ", " + std::to_string(rank);
  const Trace large = with_groups(R"([{"pg_name": "0", "pg_size": 150000, "ranks": [)" + ranks + "]}]");
  ASSERT_EQ(large.info.process_groups.size(), 1U);
  EXPECT_EQ(large.info.process_groups[0].ranks.size(), 150'000U);
  EXPECT_EQ(notes_of(large), "");

  std::string list = R"({"pg_name": "0"})";
  for (int i = 0; i < 70'000; ++i) list += R"(,{"pg_name": "a"})";
  const Trace many = with_groups("[" + list + "]");
  EXPECT_EQ(many.info.process_groups.size(), 65'536U);
  EXPECT_EQ(notes_of(many), "bad_process_group/recovered/4465 ");
}

TEST(Damage, OneUnreadableEventIsLostTwoAreUnsound) {
  const std::string bad = R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5.0, "dur" 1.0})";
  EXPECT_EQ(notes_of(between(bad)), "damaged_event/lost/1 ");
  EXPECT_EQ(notes_of(between(bad + ",\n" + bad)), "damaged_event/lost/2 interleaved_writers/unsound/2 ");
}

TEST(Damage, PiecesOfTwoEventsAreUnsound) {
  const Trace trace = between(
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5.0, "dur": 1.0})");
  EXPECT_TRUE(trace.notes.unsound());
}

TEST(Damage, AHoleOfZeros) {
  const std::string event = frame("name");
  const Trace trace = between(event.substr(0, 40) + std::string(50, '\0') + event.substr(90));
  EXPECT_TRUE(trace.notes.lost_anything());
  EXPECT_FALSE(trace.notes.unsound());
}

TEST(Damage, EventsBehindTheEndAreUnsound) {
  const std::string sound = document(kernel(10));
  Result<std::vector<Trace>> traces = read_text(sound + "00, \"dur\": 1},\n" + kernel(20) + ",\n" + kernel(30) + "]}");
  ASSERT_TRUE(traces.has_value());
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_EQ(traces->front().gpu_events.size(), 3U);
  EXPECT_TRUE(traces->front().notes.unsound());
}

TEST(Damage, ADocumentBehindACutOne) {
  const std::string first = document(kernel(10) + ",\n" + kernel(20));
  for (const std::size_t size :
       {first.find("\"k\"") + 2, first.rfind("grid") + 5, first.rfind("]"), first.rfind("\"traceName")}) {
    Result<std::vector<Trace>> traces = read_text(first.substr(0, size) + document(kernel(5)));
    ASSERT_TRUE(traces.has_value());
    EXPECT_EQ(traces->back().gpu_events.size(), 1U) << size;
    EXPECT_EQ(traces->back().gpu_events.start_ns[GpuEventId(0)], 5000) << size;
    EXPECT_TRUE(traces->back().notes.all().empty()) << size;
  }
}

TEST(Damage, TextBehindTheDocumentIsNoted) {
  Result<std::vector<Trace>> traces = read_text(document(kernel(10)) + "INFO: done\n");
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(notes_of(traces->front()), "trailing_text/recovered/1 ");
}

TEST(Damage, HugeNamesAndDeepNesting) {
  const std::string huge(10 << 20, 'x');
  EXPECT_EQ(only_frame(between(frame(huge))).size(), huge.size());
  const std::string deep(200000, '[');
  EXPECT_TRUE(between(R"({"ph": "X", "cat": "cpu_op", "name": "o", "ts": 1, "dur": 1, "args": {"x": )" + deep + "}}")
                  .notes.lost_anything());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  EXPECT_TRUE(between(R"({"ph": "X", "cat": "cpu_op", "name": "o", "ts": 1, "dur": 1, "args": {"x": )" + objects + "}}")
                  .notes.lost_anything());
}

TEST(Damage, ADamagedHeader) {
  for (const std::string header :
       {R"("deviceProperties": [{"id": 0, "name": "GPU", "clock": nan}], "distributedInfo": {"rank": 3},)",
        R"("host": "a"b", "distributedInfo": {"rank": 3},)", R"("x": , "distributedInfo": {"rank": 3},)"}) {
    Result<std::vector<Trace>> traces = read_text("{" + header + "\"traceEvents\": [" + kernel(1) + "]}");
    ASSERT_TRUE(traces.has_value()) << header;
    EXPECT_EQ(traces->front().gpu_events.size(), 1U) << header;
  }
}

TEST(Damage, WhatIsNoTraceIsRefused) {
  auto message = [](const std::string& text) {
    Result<std::vector<Trace>> traces = read_text(text);
    return traces ? "read" : traces.error().message;
  };
  EXPECT_EQ(message("{\"a\": 1}"), "not a trace: JSON without a list of events (\"traceEvents\")");
  EXPECT_EQ(message("{\"traceEvents\": null}"), "not a trace: JSON without a list of events (\"traceEvents\")");
  EXPECT_EQ(message("{\"traceEvents\": [1, 2, 3]}"), "no event could be read: the text is damaged");
  EXPECT_EQ(message("   \n"), "file is blank");
  EXPECT_EQ(message("{\"schemaVersion\": 1, \"deviceProp"), "the file is cut before its first event");
  EXPECT_EQ(message("{\"schemaVersion\": 1,"), "the file is cut before its first event");
  EXPECT_EQ(message("{\"traceEvents\": [{\"ph\": \"X\", \"na"), "the file is cut before its first event");
}

}  // namespace
}  // namespace stepscope
