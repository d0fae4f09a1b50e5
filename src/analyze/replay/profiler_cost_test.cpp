// Host work without its profiler: what is taken away, and never more than there was.
#include "analyze/replay/profiler_cost.h"

#include <gtest/gtest.h>

#include "analyze/replay/host_work.h"

namespace stepscope {
namespace {

// Work of the given labels.
ReplayGraph graph_of(const std::vector<LabelledWork>& labels) {
  ReplayGraph graph;
  graph.labels = labels;
  HostWork work;
  work.label_end = static_cast<std::uint32_t>(labels.size());
  for (const LabelledWork& part : labels) work.length_ns += part.length_ns;
  work.at = {0, work.length_ns};
  graph.work.push_back(work);
  return graph;
}
HostWork& work_of(ReplayGraph& graph) { return graph.work[WorkId(std::size_t{0})]; }

TEST(ProfilerCost, GrowsWithWhatWasRecorded) {
  TraceInfo info;
  EXPECT_EQ(ProfilerCost::of(info).op_ns, (Lanes{0, 2'000, 2'000, 2'000}));
  EXPECT_EQ(ProfilerCost::of(info).for_this_run().op_ns, (Lanes{0, 3'000, 2'000, 1'000}));
  info.record_shapes = info.profile_memory = true;
  EXPECT_EQ(ProfilerCost::of(info).for_this_run().op_ns, (Lanes{0, 5'000, 4'000, 3'000}));
}

TEST(ProfilerCost, GrowsWithASlowHost) {
  const ProfilerCost cost = ProfilerCost::of({}, 1.5);
  EXPECT_EQ(cost.op_ns[kMid], 3'000);
  EXPECT_EQ(cost.call_ns, 750);
  EXPECT_EQ(cost.for_this_run().op_ns, (Lanes{0, 4'500, 3'000, 1'500}));
  // Never below nothing, however fast the host.
  EXPECT_GE(ProfilerCost::of({}, 0.1).for_this_run().op_ns[kHigh], 0);
}

// Launching a quarter faster, the pause as it was: the range of what taking the pause's cause away brings.
TEST(ProfilerCost, LongPausesHaveAPaceOfTheirOwn) {
  ReplayGraph graph = graph_of({{HostLabel::kOperator, 4'000'000}, {HostLabel::kPython, 8'000'000}});
  const ProfilerCost cost = ProfilerCost::of({});
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost), (Lanes{12'000'000, 9'000'000, 12'000'000, 15'000'000}));
  const Lanes fast = weigh_work(graph, work_of(graph), cost.with_fast_launches());
  EXPECT_EQ(fast, (Lanes{12'000'000, 11'000'000, 11'000'000, 11'000'000}));
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost.for_this_run()), all_lanes(12'000'000));
}

TEST(ProfilerCost, OperatorsCallsFramesAndSpans) {
  ReplayGraph graph = graph_of({{HostLabel::kOperator, 100'000}});
  work_of(graph).op_count = 3;
  work_of(graph).call_count = 2;
  work_of(graph).frame_count = 4;
  work_of(graph).span_count = 1;
  const ProfilerCost cost = ProfilerCost::of({});
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost), (Lanes{100'000, 66'750, 89'000, 111'250}));
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost.for_this_run()), (Lanes{100'000, 86'000, 89'000, 92'000}));
}

TEST(ProfilerCost, TakesThreeQuartersAtMost) {
  ReplayGraph graph = graph_of({{HostLabel::kOperator, 8'000}});
  work_of(graph).op_count = 100;
  EXPECT_EQ(weigh_work(graph, work_of(graph), ProfilerCost::of({}))[kMid], 2'000);
}

TEST(ProfilerCost, TheDriverIsNoCostOfTheProfiler) {
  ReplayGraph graph = graph_of({{HostLabel::kAllocator, 8'000}, {HostLabel::kSynchronization, 8'000}});
  work_of(graph).op_count = 100;
  EXPECT_EQ(weigh_work(graph, work_of(graph), ProfilerCost::of({}))[kMid], 16'000);
}

TEST(ProfilerCost, CapturesCostLessAndTheirFramesNothing) {
  TraceInfo info;
  info.producer = "capture";
  EXPECT_EQ(ProfilerCost::of(info).op_ns, (Lanes{0, 1'500, 400, 100}));
  info.record_shapes = true;
  const ProfilerCost cost = ProfilerCost::of(info);
  EXPECT_EQ(cost.op_ns, (Lanes{0, 1'800, 700, 400}));
  ReplayGraph graph = graph_of({{HostLabel::kPython, 100'000}});
  work_of(graph).frame_count = 40;
  work_of(graph).step_mark_count = 1;
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost)[kMid], 100'000);
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost.for_this_run()), all_lanes(100'000));
  work_of(graph).call_count = 3;
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost)[kMid], 94'000);
}

TEST(ProfilerCost, LabelsAndSharesCanGo) {
  ReplayGraph graph = graph_of({{HostLabel::kDataLoader, 8'000}, {HostLabel::kPython, 2'000}});
  const ProfilerCost cost = ProfilerCost::of({});
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost, mask_of(HostLabel::kDataLoader))[kMid], 2'000);
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost, 0, 0.5)[kMid], 5'000);
  EXPECT_EQ(weigh_work(graph, work_of(graph), cost, kAllLabels), all_lanes(0));
}

TEST(ProfilerCost, ShortenedWorkKeepsTheSharesOfItsLabels) {
  ReplayGraph graph = graph_of({{HostLabel::kOperator, 6'000}, {HostLabel::kSynchronization, 4'000}});
  shorten_work(graph, WorkId(std::size_t{0}), 1'000);
  EXPECT_EQ(graph.labels[0].length_ns, 600);
  EXPECT_EQ(graph.labels[1].length_ns, 400);
  EXPECT_EQ(work_of(graph).length_ns, 1'000);
}

}  // namespace
}  // namespace stepscope
