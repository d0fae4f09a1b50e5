// What spans, operators, counters and the rest leave in a recording of one thread.
#include "stepscope/span.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <thread>

#include "capture/recording_test_support.h"

namespace stepscope {
namespace {

TEST(Span, LeavesNothingWhileNothingRecords) {
  EXPECT_FALSE(is_recording());
  Span span("early");
  OpSpan op("early op", {{1, 2}});
  STEPSCOPE_SPAN("early macro");
  record_counter("early counter", 1);
  record_instant("early instant");
  record_allocation({.address = &span, .bytes = 8});
  end_async(begin_async("early async"));
  TestRecording recording({.record_memory = true});
  span.end();
  op.end();
  const Recording got = recording.stop();
  EXPECT_EQ(record_count(got), 0U);
  EXPECT_EQ(got.open_span_count, 0U);
}

TEST(Span, NestsByTime) {
  TestRecording recording;
  EXPECT_TRUE(is_recording());
  {
    const Span outer("outer");
    { const Span inner("inner"); }
    { STEPSCOPE_SPAN("macro"); }
  }
  const Recording got = recording.stop();
  expect_sound(got);
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]), "inner macro outer");
  const auto& records = got.threads[0].records;
  EXPECT_LE(records[2].start_ns, records[0].start_ns);
  EXPECT_LE(records[0].end_ns, records[1].start_ns);
  EXPECT_LE(records[1].end_ns, records[2].end_ns);
  EXPECT_EQ(records[0].kind, RecordKind::kSpan);
  EXPECT_EQ(records[0].detail, 0U);
  EXPECT_EQ(got.threads[0].thread_id, gettid());
}

TEST(Span, EndsOnceAndEarly) {
  TestRecording recording;
  Span span("early end");
  span.end();
  span.end();
  const Span after("after");
  Recording got = recording.stop();
  EXPECT_EQ(record_count(got), 1U);
  EXPECT_EQ(got.open_span_count, 1U);
}

TEST(Span, MovesAndAssigns) {
  TestRecording recording;
  {
    Span first("first");
    Span second = std::move(first);
    Span third("third");
    third = std::move(second);  // ends "third"
    Span none;
    none = Span("made in place");
    none = Span();
    auto& same = third;
    third = std::move(same);
  }
  const Recording got = recording.stop();
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]), "third made in place first");
  EXPECT_EQ(got.open_span_count, 0U);
}

TEST(Span, OpenAtTheStopIsCountedAndLeftOut) {
  TestRecording first;
  auto span = std::make_unique<Span>("across");
  const Recording got = first.stop();
  EXPECT_EQ(record_count(got), 0U);
  EXPECT_EQ(got.open_span_count, 1U);

  TestRecording second;
  { const Span other("other"); }
  span.reset();
  const Recording later = second.stop();
  ASSERT_EQ(later.threads.size(), 1U);
  EXPECT_EQ(names_of(later.threads[0]), "other");
  EXPECT_EQ(later.open_span_count, 0U);
}

TEST(Span, WithoutAName) {
  TestRecording recording;
  set_thread_name({});
  { const Span span(std::string_view{}); }
  { STEPSCOPE_SPAN(""); }
  record_instant({});
  EXPECT_EQ(record_count(recording.stop()), 3U);
}

TEST(Span, EndsAfterTheStopBeforeTheNextStart) {
  TestRecording first;
  Span span("late");
  (void)first.stop();
  span.end();
  TestRecording second;
  EXPECT_EQ(record_count(second.stop()), 0U);
}

TEST(Span, EndedOnAnotherThreadIsLeftOut) {
  TestRecording recording;
  Span span("moved");
  std::thread([moved = std::move(span)]() mutable {
    const Span own("own");
    moved.end();
  }).join();
  const Recording got = recording.stop();
  EXPECT_EQ(find_record(got, "moved"), nullptr);
  EXPECT_NE(find_record(got, "own"), nullptr);
  EXPECT_EQ(got.open_span_count, 1U);
}

TEST(Span, NamesMadeAtRunTimeMayGoAway) {
  TestRecording recording;
  for (int i = 0; i < 1000; ++i) {
    std::string name = "layer " + std::to_string(i);
    const Span span(name);
    name.assign(name.size(), '#');
  }
  const Recording got = recording.stop();
  ASSERT_EQ(record_count(got), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(name_text(got.threads[0].records[i].name), "layer " + std::to_string(i));
  }
}

struct Net {
  template <class T>
  void forward(T) {
    STEPSCOPE_FUNCTION_SPAN();
    const auto inner = [] { STEPSCOPE_SPAN("in a lambda"); };
    inner();
  }
};

TEST(Span, MacrosNameTheirFunctions) {
  TestRecording recording;
  Net{}.forward(1);
  Net{}.forward(2.0);
  const Recording got = recording.stop();
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]),
            "in a lambda stepscope::{anonymous}::Net::forward in a lambda stepscope::{anonymous}::Net::forward");
}

constexpr auto label = [](auto pretty, auto plain) { return detail::function_label(pretty, plain); };
static_assert(label("int main()", "main") == "main");
static_assert(label("void ns::Net<T>::forward(int) [with T = float]", "forward") == "ns::Net<T>::forward");
static_assert(label("std::vector<std::pair<int, long int> > make(std::map<int, int>)", "make") == "make");
static_assert(label("T run(T) [with T = int]", "run") == "run");
static_assert(label("void Net<std::pair<int, int> >::run()", "run") == "Net<std::pair<int, int> >::run");
static_assert(label("ns::Net::~Net()", "~Net") == "ns::Net::~Net");
static_assert(label("ns::forwarding* ns::forward(ns::forwarder)", "forward") == "ns::forward");
static_assert(label("main()::<lambda(int)>", "operator()") == "main()::<lambda(int)>");
static_assert(label("void (anonymous namespace)::Net::forward(int)", "forward") == "Net::forward");
static_assert(label("void ns::{anonymous}::Net::forward(int)", "forward") == "ns::{anonymous}::Net::forward");
static_assert(label("", "f").empty());

TEST(OpSpan, CarriesWhatTheRecordingAsksFor) {
  const std::int64_t sizes[] = {2, 3};
  const OpInput inputs[] = {{sizes, "float"}, {{}, "Scalar"}, {sizes, "a \"b\"\\\n"}};
  const auto run = [&](const RecorderOptions& options) {
    TestRecording recording(options);
    { const OpSpan op("aten::mm", {{64, 128}, {std::size_t{128}, 32U}}, 524288.0); }
    { const OpSpan op("aten::add", inputs); }
    { const OpSpan op("plain"); }
    return recording.stop();
  };

  const Recording plain = run({});
  EXPECT_EQ(find_record(plain, "aten::mm")->kind, RecordKind::kOp);
  EXPECT_EQ(find_detail(plain, "aten::mm"), nullptr);
  EXPECT_TRUE(plain.threads[0].details.empty());

  const Recording shapes = run({.record_shapes = true});
  expect_sound(shapes);
  EXPECT_EQ(find_detail(shapes, "aten::mm")->shapes, "[[64, 128], [128, 32]]");
  EXPECT_EQ(find_detail(shapes, "aten::mm")->types, "");
  EXPECT_EQ(find_detail(shapes, "aten::mm")->flops, -1);
  EXPECT_EQ(find_detail(shapes, "aten::add")->shapes, "[[2, 3], [], [2, 3]]");
  EXPECT_EQ(find_detail(shapes, "aten::add")->types, R"(["float", "Scalar", "a \"b\"\\\u000a"])");
  EXPECT_EQ(find_detail(shapes, "plain"), nullptr);

  const Recording flops = run({.record_flops = true});
  EXPECT_EQ(find_detail(flops, "aten::mm")->shapes, "");
  EXPECT_EQ(find_detail(flops, "aten::mm")->flops, 524288.0);
  EXPECT_EQ(find_detail(flops, "aten::add"), nullptr);
}

TEST(OpSpan, KeepsTheTimeWhenShapesAreTooMany) {
  const std::vector<std::int64_t> dims(100'000, 7);
  const OpInput inputs[] = {{dims, "float"}};
  TestRecording recording({.record_shapes = true});
  { const OpSpan op("huge", inputs); }
  const Recording got = recording.stop();
  ASSERT_NE(find_record(got, "huge"), nullptr);
  EXPECT_EQ(find_detail(got, "huge"), nullptr);
  EXPECT_EQ(dropped_count(got), 1U);
}

TEST(OpSpan, ShapesLargerThanAChunk) {
  const std::vector<std::int64_t> dims(20'000, 7);
  const OpInput inputs[] = {{dims, "float"}};
  TestRecording recording({.record_shapes = true});
  for (int i = 0; i < 3; ++i) {
    const OpSpan op("large", inputs);
    const Span inner("inner");
  }
  const Recording got = recording.stop();
  EXPECT_EQ(record_count(got), 6U);
  EXPECT_EQ(dropped_count(got), 0U);
  EXPECT_EQ(find_detail(got, "large")->shapes.size(), 20'000U * 3 - 2 + 4);
}

TEST(Counter, KeepsEveryDouble) {
  TestRecording recording;
  const double values[] = {0, -1.5, 1e308, std::numeric_limits<double>::infinity(), 5e-324};
  for (const double value : values) record_counter("queue", value);
  record_instant("checkpoint");
  const Recording got = recording.stop();
  expect_sound(got);
  ASSERT_EQ(record_count(got), 6U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got.threads[0].records[i].kind, RecordKind::kCounter);
    EXPECT_EQ(std::bit_cast<double>(got.threads[0].records[i].value), values[i]);
  }
  EXPECT_EQ(got.threads[0].records[5].kind, RecordKind::kInstant);
}

TEST(Allocation, OnlyWhenMemoryIsRecorded) {
  const auto run = [](const RecorderOptions& options) {
    TestRecording recording(options);
    record_allocation({.address = reinterpret_cast<void*>(0x1000),
                       .bytes = -4096,
                       .total_allocated_bytes = 5000,
                       .total_reserved_bytes = 6000,
                       .is_cuda = true,
                       .device_number = 3});
    return recording.stop();
  };
  EXPECT_EQ(record_count(run({})), 0U);
  const Recording got = run({.record_memory = true});
  expect_sound(got);
  const Record* record = find_record(got, "[memory]");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->kind, RecordKind::kAllocation);
  EXPECT_EQ(record->value, -4096);
  const RecordDetail* detail = find_detail(got, "[memory]");
  EXPECT_EQ(detail->address, 0x1000U);
  EXPECT_EQ(detail->total_allocated_bytes, 5000);
  EXPECT_EQ(detail->total_reserved_bytes, 6000);
  EXPECT_EQ(detail->device_type, 1);
  EXPECT_EQ(detail->device_number, 3);
}

TEST(WriteRecord, KeepsItsTimes) {
  TestRecording recording;
  const TimeNs start_ns = recorder_now_ns();
  { const Span inner("inner"); }
  const TimeNs end_ns = recorder_now_ns();
  write_record({start_ns, end_ns, 7, intern_name("ProfilerStep#7"), 99, RecordKind::kStep});
  const Recording got = recording.stop();
  expect_sound(got);
  const Record* step = find_record(got, "ProfilerStep#7");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->start_ns, start_ns);
  EXPECT_EQ(step->end_ns, end_ns);
  EXPECT_EQ(step->value, 7);
  EXPECT_EQ(step->detail, 0U);
  EXPECT_EQ(step->kind, RecordKind::kStep);
  const Record* inner = find_record(got, "inner");
  EXPECT_LE(start_ns, inner->start_ns);
  EXPECT_LE(inner->end_ns, end_ns);
}

TEST(WriteRecord, IsSortedIntoTheOrderOfEnds) {
  TestRecording recording;
  const TimeNs now = recorder_now_ns();
  write_record({now, now + 2, 0, intern_name("later"), 0, RecordKind::kSpan});
  write_record({now, now + 1, 0, intern_name("sooner"), 0, RecordKind::kSpan});
  while (recorder_now_ns() < now + 2) {
  }
  EXPECT_EQ(names_of(recording.stop().threads.at(0)), "sooner later");
}

}  // namespace
}  // namespace stepscope
