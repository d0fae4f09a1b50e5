// Containment against partial overlap, and what counts as evidence.
#include "analyze/gpu_timeline.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

TimeNs effective_end(const Trace& trace, std::string_view name) {
  return compute_gpu_timeline(trace).end_ns[gpu_event_named(trace, name)];
}

TEST(GpuTimeline, SoundEventsKeepTheirEnds) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A===][B==] [C=]
  )");
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  EXPECT_EQ(timeline.end_ns.raw(), trace.gpu_events.end_ns.raw());
  EXPECT_TRUE(timeline.swallowing.empty());
}

TEST(GpuTimeline, PartialOverlapIsReal) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A=====]
    gpu/7         [B=====]
  )");
  EXPECT_TRUE(compute_gpu_timeline(trace).swallowing.empty());
}

TEST(GpuTimeline, EqualEndsAreAPartialOverlap) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A=====]
    gpu/7         [B=]
  )");
  EXPECT_TRUE(compute_gpu_timeline(trace).swallowing.empty());
}

TEST(GpuTimeline, AContainerEndsAtTheNextStartOfItsStream) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A===============]
    gpu/7         [B=]
    gpu/7              [C=]
    gpu/8       [D]
  )");
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  ASSERT_EQ(timeline.swallowing.size(), 1U);
  EXPECT_EQ(timeline.swallowing[0], gpu_event_named(trace, "A"));
  EXPECT_EQ(effective_end(trace, "A"), 40'000);
  EXPECT_EQ(effective_end(trace, "B"), 80'000);
}

TEST(GpuTimeline, AContainerIsFoundBehindANeighbourThatOverlapsInPart) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A=========]
    gpu/7        [B=============]
    gpu/7            [C]
  )");
  EXPECT_EQ(compute_gpu_timeline(trace).swallowing.size(), 2U);
  EXPECT_EQ(effective_end(trace, "A"), 30'000);
  EXPECT_EQ(effective_end(trace, "B"), 70'000);
}

TEST(GpuTimeline, OtherStreamsAreNoEvidence) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A===============]
    gpu/8         [B=]
  )");
  EXPECT_TRUE(compute_gpu_timeline(trace).swallowing.empty());
}

TEST(GpuTimeline, SiblingsOfAGraphLaunchAreNoEvidence) {
  const Trace trace = trace_from_text(R"(
    call      [G]
    gpu/7       [A=========]
    gpu/7           [B=]
    where
      G = cudaGraphLaunch corr 5
      A = a corr 5
      B = b corr 5
  )");
  EXPECT_TRUE(compute_gpu_timeline(trace).swallowing.empty());
}

TEST(GpuTimeline, AnEventOfLengthZeroIsNoEvidence) {
  const Trace trace = trace_from_text(R"(
    gpu/7     [A=========]
    gpu/7         [B=]
    where
      B = b @ 50000..50000
  )");
  EXPECT_TRUE(compute_gpu_timeline(trace).swallowing.empty());
}

TEST(GpuTimeline, ManyEventsInsideOneAnotherTakeLinearTime) {
  Trace trace;
  trace.streams.push_back({});
  constexpr std::int64_t kCount = 1'000'000;
  for (std::int64_t i = 0; i < kCount; ++i) {
    GpuEvents::Row row;
    row.start_ns = i;
    row.end_ns = i % 2 == 0 ? 3 * kCount - i : i + kCount;  // half are nested, half overlap in part
    row.stream = StreamId(0);
    trace.gpu_events.push_back(row);
  }
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  EXPECT_GE(timeline.swallowing.size(), static_cast<std::size_t>(kCount / 2 - 1));
  for (const GpuEventId id : timeline.swallowing) EXPECT_EQ(timeline.end_ns[id], trace.gpu_events.start_ns[id] + 1);
}

}  // namespace
}  // namespace stepscope
