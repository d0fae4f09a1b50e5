// Categories by where memory was taken and given back, what was there before, and events that contradict each other.
#include "analyze/memory_timeline.h"

#include <gtest/gtest.h>

#include <string>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr TimeNs kColumnNs = 10'000;

struct Event {
  const char* thread;
  double column;  // of the picture
  std::int64_t address;
  std::int64_t bytes;
  std::int64_t total = 0;
  std::int32_t device_type = 1, device_number = 0;
};

void add(Trace& trace, const std::vector<Event>& events) {
  for (const Event& event : events) {
    MemoryEvents::Row row;
    row.time_ns = static_cast<TimeNs>(event.column * kColumnNs);
    row.thread = thread_named(trace, event.thread);
    row.address = event.address;
    row.bytes = event.bytes;
    if (event.total != 0) row.total_allocated_bytes = event.total;
    row.device_type = event.device_type;
    row.device_number = event.device_number;
    trace.memory_events.push_back(row);
  }
}

// "create input 64; ..." in order.
std::string rows_of(const MemoryTimeline& timeline) {
  std::string text;
  for (const TimelineRow& row : timeline.rows) {
    text += row.action == TimelineAction::kPreexisting ? "before "
            : row.action == TimelineAction::kCreate    ? "create "
                                                       : "destroy ";
    text += timeline_category_name(row.category);
    text += ' ';
    text += std::to_string(row.bytes);
    text += "; ";
  }
  return text;
}

Trace training_step() {
  return trace_from_text(R"(
    span      .                                          [O====]
    op        [R  ] [F          ]                         [A]
    op           .   [T ]
    op@bwd    .                    [E           ][G   ]
    op@bwd    .                     [B         ]
    where
      R = aten::randn
      F = aten::linear
      T = aten::addmm
      E = autograd::engine::evaluate_function: AddmmBackward0
      B = AddmmBackward0
      G = torch::autograd::AccumulateGrad
      O = Optimizer.step#Adam.step
      A = aten::zeros_like
  )");
}

TEST(MemoryTimeline, CategoriesFollowFromWhereMemoryWasTakenAndGivenBack) {
  Trace trace = training_step();
  add(trace, {{"main", 1, 0x100, 64},      // input, kept
              {"main", 8, 0x200, 10},      // within one operator
              {"main", 9, 0x200, -10},     //
              {"main", 10, 0x300, 32},     // forward, given back in backward
              {"bwd", 22, 0x400, 16},      // backward, kept
              {"bwd", 23, 0x500, 8},       // backward, given back in another of its functions
              {"bwd", 30, 0x300, -32},     //
              {"bwd", 40, 0x500, -8},      //
              {"main", 45, 0x600, 128}});  // optimizer, kept
  EXPECT_EQ(
      rows_of(compute_memory_timeline(trace, {})),
      "create input 64; create temporary 10; destroy temporary -10; create activation 32; create gradient 16; "
      "create autograd detail 8; destroy activation -32; destroy autograd detail -8; create optimizer state 128; ");
}

TEST(MemoryTimeline, WhatWasThereBeforeIsFreedOrStays) {
  Trace trace = training_step();
  // 1000 bytes were there: 300 are freed in backward, 16 of the rest are as many as the gradients.
  add(trace, {{"main", 1, 0x100, 64, 1064}, {"bwd", 22, 0x400, 16, 1080}, {"bwd", 30, 0x700, -300, 780}});
  EXPECT_EQ(rows_of(compute_memory_timeline(trace, {})),
            "before activation 300; before parameter 16; before unknown 684; create input 64; create gradient 16; "
            "destroy activation -300; ");
}

TEST(MemoryTimeline, TheBusiestGpuIsTakenAndTheCpuNever) {
  Trace trace = training_step();
  add(trace, {{"main", 1, 0x100, 1, 0, 0, -1},
              {"main", 1, 0x100, 2, 0, 0, -1},
              {"main", 1, 0x100, 4, 0, 1, 0},
              {"main", 1, 0x100, 8, 0, 1, 1},
              {"main", 1, 0x200, 8, 0, 1, 1}});
  const MemoryTimeline timeline = compute_memory_timeline(trace, {});
  EXPECT_EQ(timeline.device_number, 1);
  EXPECT_EQ(rows_of(timeline), "create input 8; create input 8; ");
  EXPECT_EQ(rows_of(compute_memory_timeline(trace, 0)), "create input 4; ");
  EXPECT_FALSE(compute_memory_timeline(trace, 7).device_number.has_value());
  EXPECT_FALSE(compute_memory_timeline(Trace(), {}).device_number.has_value());
}

// An address given out twice, a free of another size: each event is kept, and nothing is paired wrongly.
TEST(MemoryTimeline, TheCpuIsADeviceThatIsAskedFor) {
  Trace trace = training_step();
  add(trace, {{"main", 1, 0x10, 64, 0, 0, -1}, {"main", 2, 0x20, 32, 0, 1, 0}, {"main", 3, 0x10, -64, 0, 0, -1}});
  const MemoryTimeline timeline = compute_memory_timeline(trace, kTimelineCpu);
  EXPECT_EQ(timeline.device_number, kTimelineCpu);
  ASSERT_EQ(timeline.rows.size(), 2U);
  EXPECT_EQ(timeline.rows[0].bytes, 64);
  EXPECT_EQ(timeline.rows[1].bytes, -64);
}

TEST(MemoryTimeline, ContradictionsAreKeptAsTheyStand) {
  Trace trace = training_step();
  add(trace, {{"main", 8, 0x100, 5}, {"main", 10, 0x100, 7}, {"bwd", 30, 0x100, -7}, {"bwd", 31, 0x100, -5}});
  EXPECT_EQ(
      rows_of(compute_memory_timeline(trace, {})),
      "before activation 5; create unknown 5; create activation 7; destroy activation -7; destroy activation -5; ");
}

TEST(MemoryTimeline, LevelsAreAfterAllOfAMicrosecond) {
  Trace trace = training_step();
  trace.info.base_ns = 1'000'000'000;
  add(trace,
      {{"main", 1, 0x100, 64, 100}, {"main", 8.01, 0x200, 10}, {"main", 8.02, 0x200, -10}, {"main", 9, 0x300, 1}});
  const std::vector<TimelineLevel> levels = compute_timeline_levels(compute_memory_timeline(trace, {}));
  ASSERT_EQ(levels.size(), 4U);
  EXPECT_EQ(levels[0].time_us, 1'000'010);  // what was there before has the time of the first event
  EXPECT_EQ(levels[0].total_bytes(), 36);
  EXPECT_EQ(levels[1].time_us, 1'000'010);
  EXPECT_EQ(levels[1].total_bytes(), 100);
  EXPECT_EQ(levels[2].total_bytes(), 100);
  EXPECT_EQ(levels[3].total_bytes(), 101);
}

}  // namespace
}  // namespace stepscope
