// Unions and their differences on drawn streams, then on random ones against a count of every nanosecond.
#include "analyze/busy.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

std::vector<DeviceBusy> busy_of(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  const Steps steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  return compute_busy(trace, timeline, compute_kernel_classes(trace), steps);
}

DurationNs of_kind(const DeviceBusy& busy, KernelClass kind) {
  return busy.busy_by_kind_ns[static_cast<std::size_t>(kind)];
}

TEST(Busy, OverlapCountsOnce) {
  const Trace trace = trace_from_text(R"(
    step      [1                  ]
    gpu/7       [gemm====]
    gpu/20          [ncclA======]
  )");
  const std::vector<DeviceBusy> busy = busy_of(trace);
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0].window_ns, 210'000);
  EXPECT_EQ(busy[0].gpu_busy_ns, 170'000);
  EXPECT_EQ(busy[0].idle_ns, 40'000);
  EXPECT_EQ(busy[0].gpu_sum_ns, 230'000);
  EXPECT_EQ(busy[0].communication_ns, 130'000);
  EXPECT_EQ(busy[0].hidden_communication_ns, 60'000);
  EXPECT_EQ(busy[0].exposed_communication_ns, 70'000);
  EXPECT_EQ(busy[0].busy_by_step_ns, (std::vector<DurationNs>{170'000}));
  EXPECT_EQ(busy[0].exposed_communication_by_step_ns, (std::vector<DurationNs>{70'000}));
}

TEST(Busy, ACopyIsExposedWhereNoKernelRuns) {
  const Trace trace = trace_from_text(R"(
    step      [1                            ]
    gpu/7       [gemm====]
    gpu/8           [Memcpy HtoD (P)]
    gpu/9                     [ncclA]
  )");
  const DeviceBusy busy = busy_of(trace).front();
  EXPECT_EQ(of_kind(busy, KernelClass::kCopy), 170'000);
  EXPECT_EQ(busy.exposed_copy_ns, 40'000) << "60 under the matmul, 70 under the collective";
  EXPECT_EQ(busy.exposed_communication_ns, 70'000) << "a copy is no compute";
}

TEST(Busy, WorkOutsideTheWindowIsNotCounted) {
  const Trace trace = trace_from_text(R"(
    step           [1        ]
    gpu/7     [a==] [b=] [c==]   [d==]
  )");
  const DeviceBusy busy = busy_of(trace).front();
  EXPECT_EQ(busy.window_ns, 110'000);
  EXPECT_EQ(busy.gpu_busy_ns, 90'000);
  EXPECT_EQ(busy.gpu_sum_ns, 90'000);
}

TEST(Busy, SwallowedTimeIsInTheRawUnionOnly) {
  const Trace trace = trace_from_text(R"(
    step      [1                 ]
    gpu/7      [sticky=========]
    gpu/7        [b]     [c]
  )");
  const DeviceBusy busy = busy_of(trace).front();
  EXPECT_EQ(busy.gpu_busy_raw_ns, 170'000);
  EXPECT_EQ(busy.gpu_busy_ns, 20'000 + 30'000 + 30'000);
}

TEST(Busy, BadAndDuplicateEventsCountNothing) {
  Trace trace = trace_from_text(R"(
    step      [1                 ]
    gpu/7      [a==] [b==] [c==]
  )");
  trace.gpu_events.fault[gpu_event_named(trace, "b")] = TimeFault::kDuplicate;
  EXPECT_EQ(busy_of(trace).front().gpu_busy_ns, 100'000);
}

// A step of 1000 ns with random kernels and copies on three streams, counted nanosecond by nanosecond.
TEST(Busy, PartsAddUpOnRandomStreams) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::ostringstream picture;
    std::ostringstream where;
    picture << "\n    step      [1]\n";
    where << "    where\n      1 = 1 @ 0..1000\n";
    for (int i = 0; i < 30; ++i) {
      const int begin = static_cast<int>(random() % 1100) - 50;
      const int end = begin + static_cast<int>(random() % 80);
      const char* names[] = {"gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD (Pinned -> Device)", "softmax"};
      picture << "    gpu/" << random() % 3 << "     [e" << i << "]\n";
      where << "      e" << i << " = " << names[random() % 4] << " @ " << begin << ".." << end << "\n";
    }
    const Trace trace = trace_from_text(picture.str() + where.str());
    const GpuTimeline timeline = compute_gpu_timeline(trace);
    const KernelClasses classes = compute_kernel_classes(trace);
    const DeviceBusy busy = busy_of(trace).front();
    DurationNs any = 0;
    DurationNs exposed_communication = 0;
    DurationNs exposed_copy = 0;
    for (TimeNs t = 0; t < 1000; ++t) {
      bool compute = false;
      bool communication = false;
      bool copy = false;
      for (const GpuEventId id : trace.gpu_events.ids().ids()) {
        if (t < trace.gpu_events.start_ns[id] || t >= timeline.end_ns[id]) continue;
        communication |= classes.of[id] == KernelClass::kCommunication;
        copy |= classes.of[id] == KernelClass::kCopy;
        compute |= classes.of[id] == KernelClass::kMatmul || classes.of[id] == KernelClass::kReduction;
      }
      any += compute || communication || copy ? 1 : 0;
      exposed_communication += communication && !compute ? 1 : 0;
      exposed_copy += copy && !compute && !communication ? 1 : 0;
    }
    EXPECT_EQ(busy.gpu_busy_ns, any);
    EXPECT_EQ(busy.exposed_communication_ns, exposed_communication);
    EXPECT_EQ(busy.exposed_copy_ns, exposed_copy);
    EXPECT_EQ(busy.gpu_busy_ns + busy.idle_ns, busy.window_ns);
    EXPECT_EQ(length_ns(busy.busy), busy.gpu_busy_ns);
    EXPECT_LE(busy.gpu_busy_ns, busy.gpu_busy_raw_ns);
    EXPECT_GE(busy.gpu_sum_ns, busy.gpu_busy_ns);
  }
}

TEST(Busy, StepsAddUpToTheWindow) {
  const Trace trace = trace_from_text(R"(
    step      [1      ][2      ][3      ]
    gpu/7      [a==] [b======] [c========]
  )");
  const DeviceBusy busy = busy_of(trace).front();
  DurationNs sum = 0;
  for (const DurationNs each : busy.busy_by_step_ns) sum += each;
  EXPECT_EQ(sum, busy.gpu_busy_ns);
}

}  // namespace
}  // namespace stepscope
