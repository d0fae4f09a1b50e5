// The damaged files of tests/data/cases: what is kept, what is noted, what it means for the status of a report.
//
// One row a file: the objects that were read (metadata included), GPU events, and the notes of this importer as
// "kind/severity/count". Files whose damage is of another kind (times, links) have no such notes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "import/importers.h"

namespace stepscope {
namespace {

std::string path_of(const std::string& name) { return std::string(STEPSCOPE_TESTS_DIR "/data/cases/") + name; }

std::vector<Trace> read(const std::string& name) {
  Result<std::vector<Trace>> traces = read_traces(path_of(name));
  EXPECT_TRUE(traces.has_value()) << traces.error().to_string();
  return traces ? std::move(*traces) : std::vector<Trace>();
}

struct Case {
  const char* file;
  std::uint64_t object_count;
  std::size_t gpu_event_count;
  const char* notes;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.file; }

constexpr Case kCases[] = {
    {"A00_good.json", 22, 3, ""},
    {"A01_truncated_mid_event.json", 26, 3, "file_cut/lost/1 "},
    {"A02_array_unclosed.json", 22, 3, "array_unclosed/info/1 "},
    {"A04_backslash_paths.json", 25, 3, "invalid_escape/recovered/8 "},
    {"A05_unescaped_quotes.json", 23, 3, "unescaped_quote/recovered/1 "},
    {"A07_inf_nan_na.json", 27, 8, "bare_value/recovered/5 "},
    {"A08_big_integers.json", 28, 5, "big_integer/info/1 "},
    {"A10_two_ranks_interleaved.json", 20, 2, "damaged_event/lost/2 interleaved_writers/unsound/2 "},
    {"A12_plain_named_gz.json.gz", 22, 3, ""},
    {"A13_gzip_named_json.json", 22, 3, ""},
    {"A14_multi_member.json.gz", 22, 3, ""},
    {"A16_string_ts_absolute.json", 4, 4, ""},
    {"A19_bad_durations.json", 25, 5, "bad_duration/lost/3 "},
    {"A20_overlap_one_stream.json", 6, 2, ""},
    {"A22_no_profiler_step.json", 19, 3, ""},
    {"A28_cuda_graph.json", 16, 8, ""},
    {"A29_rocm_names.json", 13, 4, ""},
    {"A31_pid_collision.json", 20, 3, ""},
    {"A32_id_types.json", 30, 4, ""},
    {"A33_tiny_kernels.json", 16, 11, ""},
    {"A37_jax_empty_tail.json.gz", 6, 1, "empty_object/info/1 "},
    {"A38_memory_instants.json", 28, 3, ""},
    {"A39_metadata_at_end.json", 22, 3, ""},
};

class Cases : public testing::TestWithParam<Case> {};

TEST_P(Cases, KeepsAndNotes) {
  const std::vector<Trace> traces = read(GetParam().file);
  ASSERT_EQ(traces.size(), 1U);
  const Trace& trace = traces[0];
  EXPECT_EQ(trace.info.event_count + trace.info.metadata_event_count, GetParam().object_count);
  EXPECT_EQ(trace.gpu_events.size(), GetParam().gpu_event_count);
  std::string notes;
  for (const Note& note : trace.notes.all()) {
    notes += std::string(note_kind_name(note.kind)) + "/" + std::string(note_severity_name(note.severity)) + "/" +
             std::to_string(note.count) + " ";
  }
  EXPECT_EQ(notes, GetParam().notes);
}

INSTANTIATE_TEST_SUITE_P(Files, Cases, testing::ValuesIn(kCases), [](const auto& sample) {
  return std::string(sample.param.file, std::string_view(sample.param.file).find('_'));
});

const Note& only_note(const Trace& trace) {
  EXPECT_EQ(trace.notes.all().size(), 1U);
  return trace.notes.all().front();
}

std::string first_gpu_names(const Trace& trace) {
  std::set<std::string_view> names;
  for (GpuEventId id : trace.gpu_events.ids().ids()) names.insert(trace.text(trace.gpu_events.name[id]));
  std::string text;
  for (const std::string_view name : names) text += std::string(name) + "|";
  return text;
}

TEST(Cases, A01SaysWhereTheFileIsCut) {
  const std::vector<Trace> traces = read("A01_truncated_mid_event.json");
  EXPECT_EQ(only_note(traces[0]).example, "file is cut at byte 4639 of 4639, 1 partial event dropped");
  EXPECT_EQ(traces[0].spans.size(), 4U);
}

TEST(Cases, A04TakesEveryBackslashOfABadStringAsItself) {
  const std::vector<Trace> traces = read("A04_backslash_paths.json");
  std::set<std::string_view> names;
  for (FrameId id : traces[0].frames.ids().ids()) names.insert(traces[0].text(traces[0].frames.name[id]));
  const std::set<std::string_view> expected = {"C:\\site-packages\\torch\\nn\\modules\\conv.py(443): forward",
                                               "D:\\users\\q\\work\\train.py(7): <module>", "E:\\data\\x.py(1): f"};
  EXPECT_EQ(names, expected);
}

TEST(Cases, A05RestoresTheName) {
  const std::vector<Trace> traces = read("A05_unescaped_quotes.json");
  ASSERT_EQ(traces[0].frames.size(), 1U);
  EXPECT_EQ(traces[0].text(traces[0].frames.name[FrameId(0)]),
            "{\"device\": \"cpu\", \"dtype\": \"float32\"}(12): run");
  EXPECT_EQ(only_note(traces[0]).first_offset, 1317U);
}

TEST(Cases, A07LeavesNoValueMissing) {
  const std::vector<Trace> traces = read("A07_inf_nan_na.json");
  const GpuEvents& events = traces[0].gpu_events;
  for (GpuEventId id : events.ids().ids()) EXPECT_EQ(events.occupancy_percent[id], -1);
}

TEST(Cases, A08KeepsTwoBigFlowsApart) {
  const std::vector<Trace> traces = read("A08_big_integers.json");
  std::set<std::uint64_t> ids;
  for (FlowId id : traces[0].flows.ids().ids()) ids.insert(traces[0].flows.id[id]);
  EXPECT_TRUE(ids.contains(9007199254740992U));
  EXPECT_TRUE(ids.contains(9007199254740993U));
}

TEST(Cases, A10MixesTheKernelsOfTwoWriters) {
  const std::vector<Trace> traces = read("A10_two_ranks_interleaved.json");
  EXPECT_EQ(first_gpu_names(traces[0]), "gemm_kernel_a|other_rank_kernel|");
  EXPECT_TRUE(traces[0].notes.unsound());
}

TEST(Cases, A11IsTwoTraces) {
  const std::vector<Trace> traces = read("A11_concatenated.json");
  ASSERT_EQ(traces.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(traces[i].info.rank, static_cast<std::int64_t>(i));
    EXPECT_EQ(traces[i].info.event_count + traces[i].info.metadata_event_count, 22U);
    EXPECT_FALSE(traces[i].notes.lost_anything());
  }
  EXPECT_EQ(only_note(traces[0]).first_offset, 3878U);
}

TEST(Cases, A16ReadsQuotedTimesToTheNanosecond) {
  const std::vector<Trace> traces = read("A16_string_ts_absolute.json");
  const GpuEvents& events = traces[0].gpu_events;
  EXPECT_EQ(events.start_ns[GpuEventId(0)], 1759276800000100125);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(events.end_ns[GpuEventId(i)] - events.start_ns[GpuEventId(i)], 300);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(events.start_ns[GpuEventId(i)] - events.end_ns[GpuEventId(i - 1)], 50);
}

TEST(Cases, A19MarksBadDurations) {
  const std::vector<Trace> traces = read("A19_bad_durations.json");
  const GpuEvents& events = traces[0].gpu_events;
  std::size_t bad = 0;
  for (GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kBadDuration) continue;
    ++bad;
    EXPECT_EQ(events.start_ns[id], events.end_ns[id]);
  }
  EXPECT_EQ(bad, 2U);
  for (OpId id : traces[0].ops.ids().ids()) EXPECT_LE(traces[0].ops.end_ns[id], 4000000);
}

TEST(Cases, NothingInThemIsSaidInThreeWays) {
  auto message = [](const std::string& name) {
    Result<std::vector<Trace>> traces = read_traces(path_of(name));
    return traces ? "read" : traces.error().message;
  };
  EXPECT_EQ(message("A23_metadata_only.json"), "no events but metadata");
  EXPECT_EQ(message("A24_empty_events.json"), "no events");
  EXPECT_EQ(message("A25_zero_bytes.json"), "file is empty");
}

TEST(Cases, A29IsDeviceTwo) {
  const std::vector<Trace> traces = read("A29_rocm_names.json");
  const GpuEvents& events = traces[0].gpu_events;
  for (GpuEventId id : events.ids().ids()) EXPECT_EQ(traces[0].devices.number[events.device[id]], 2);
  EXPECT_EQ(traces[0].calls.size(), 4U);
}

TEST(Cases, A31PartsHostAndGpuRowsOfOneNumber) {
  const std::vector<Trace> traces = read("A31_pid_collision.json");
  EXPECT_EQ(traces[0].threads.size(), 1U);
  EXPECT_EQ(traces[0].streams.size(), 1U);
  EXPECT_EQ(traces[0].ops.size(), 3U);
}

TEST(Cases, A32KeepsOddRowsApart) {
  const std::vector<Trace> traces = read("A32_id_types.json");
  const Trace& trace = traces[0];
  std::set<std::string_view> threads;
  for (ThreadId id : trace.threads.ids().ids()) threads.insert(trace.text(trace.threads.key[id]));
  EXPECT_EQ(threads, (std::set<std::string_view>{"4242", "140589156634432", "140588800255680", "140593451601728"}));
  EXPECT_EQ(trace.streams.size(), 1U);
  EXPECT_EQ(trace.other_events.size(), 3U);
}

TEST(Cases, A37ReadsJax) {
  const std::vector<Trace> traces = read("A37_jax_empty_tail.json.gz");
  const Trace& trace = traces[0];
  ASSERT_EQ(trace.spans.size(), 1U);
  EXPECT_EQ(trace.spans.step_number[SpanId(0)], MaybeInt(0));
  EXPECT_EQ(trace.spans.end_ns[SpanId(0)] - trace.spans.start_ns[SpanId(0)], 100000);
  ASSERT_EQ(trace.gpu_events.size(), 1U);
  EXPECT_EQ(trace.gpu_events.end_ns[GpuEventId(0)] - trace.gpu_events.start_ns[GpuEventId(0)], 40000);
  EXPECT_EQ(trace.devices.number[DeviceId(0)], 0);
  EXPECT_EQ(trace.text(trace.streams.name[StreamId(0)]), "Stream #13(Compute)");
}

TEST(Cases, A38TellsTheCpuFromTheGpu) {
  const std::vector<Trace> traces = read("A38_memory_instants.json");
  const MemoryEvents& events = traces[0].memory_events;
  std::int64_t peak = 0;
  std::size_t on_cpu = 0;
  for (MemoryEventId id : events.ids().ids()) {
    if (events.device_type[id] == 0)
      ++on_cpu;
    else
      peak = std::max(peak, events.total_allocated_bytes[id].value());
  }
  EXPECT_EQ(on_cpu, 1U);
  EXPECT_EQ(peak, 900LL << 20);
}

TEST(Cases, A39FindsTheRankBehindTheEvents) {
  const std::vector<Trace> traces = read("A39_metadata_at_end.json");
  EXPECT_EQ(traces[0].info.rank, 5);
  EXPECT_EQ(traces[0].info.world_size, 8);
}

}  // namespace
}  // namespace stepscope
