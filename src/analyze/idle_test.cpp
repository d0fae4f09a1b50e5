// Idle attribution on drawn traces, and its one promise on random ones: the parts add up to the idle time exactly.
#include "analyze/idle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analyze/idle_test_facts.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

DurationNs sum(const IdleByCause& causes) { return std::accumulate(causes.begin(), causes.end(), DurationNs{0}); }

// "data_loader 400 operator 5": microseconds, zeros left out.
std::string text_of(const IdleByCause& causes) {
  std::string text;
  for (std::size_t label = 0; label < kHostLabelCount; ++label) {
    if (causes[label] == 0) continue;
    if (!text.empty()) text += " ";
    text += std::string(host_label_name(static_cast<HostLabel>(label))) + " " + std::to_string(causes[label] / 1000);
  }
  return text;
}

void expect_exact(const IdleTestFacts& facts, const std::vector<DeviceIdle>& idle) {
  ASSERT_EQ(idle.size(), facts.busy.size());
  for (std::size_t at = 0; at < idle.size(); ++at) {
    EXPECT_EQ(sum(idle[at].blame_ns), facts.busy[at].idle_ns);
    EXPECT_EQ(sum(idle[at].edges_ns), facts.busy[at].idle_ns);
    for (std::size_t step = 0; step < facts.steps.steps.size(); ++step) {
      const DurationNs idle_ns = facts.steps.steps[step].duration_ns() - facts.busy[at].busy_by_step_ns[step];
      EXPECT_EQ(sum(idle[at].blame_by_step_ns[step]), idle_ns) << "step " << step;
      EXPECT_EQ(sum(idle[at].edges_by_step_ns[step]), idle_ns) << "step " << step;
    }
    for (const Gap& gap : idle[at].largest) {
      DurationNs length = 0;
      for (const GapPart& part : gap.blame) length += part.length_ns;
      EXPECT_EQ(length, gap.at.length_ns());
    }
  }
}

// Case B06 of tests/data/cases, drawn: a loader stall, then a queue drained by `.item()`.
constexpr std::string_view kTwoCauses = R"(
    step      [s ]
    span      [e ]
    call       [L1] [C2] [S3]  [L4] [L5]
    op                  [item]
    op                   [lsd]
    gpu/7      [k1] [c2]       [k2]
    gpu/20                          [nccl]
    where
      s = 1 @ 0..1000000
      e = enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ @ 0..400000
      L1 = cudaLaunchKernel corr 1 @ 410000..420000
      k1 = k1 corr 1 @ 420000..520000
      item = aten::item ext 8 @ 430000..535000
      lsd = aten::_local_scalar_dense ext 9 @ 432000..533000
      C2 = cudaMemcpyAsync corr 2 ext 9 @ 434000..442000
      c2 = Memcpy DtoH (Device -> Pageable) corr 2 bytes 4 @ 520000..525000
      S3 = cudaStreamSynchronize ext 9 @ 442000..530000
      L4 = cudaLaunchKernel corr 4 @ 650000..660000
      k2 = k2 corr 4 @ 665000..800000
      L5 = cudaLaunchKernel corr 5 @ 700000..710000
      nccl = ncclDevKernel_AllReduce_Sum_bf16_RING_LL corr 5 @ 800000..1000000
  )";

TEST(Idle, LoaderStallAndDrainedQueue) {
  const IdleTestFacts facts(trace_from_text(kTwoCauses));
  ASSERT_EQ(facts.steps.window.length_ns(), 1'000'000);
  const auto idle = facts.idle();
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(facts.busy[0].idle_ns, 560'000);
  // Gap 1: 400 loader, 10 the step's own span, 10 latency. Gap 2: 5 of synchronization, 3 lsd, 2 item, 115
  // of the step's span, 15 latency.
  EXPECT_EQ(text_of(idle[0].edges_ns), "data_loader 400 synchronization 5 operator 5 python 125 launch_latency 25");
  // Gap 1 shifted by 10: the host's first event is at 0, before it nothing is known.
  EXPECT_EQ(text_of(idle[0].blame_ns), "data_loader 400 synchronization 20 operator 5 python 125 no_event 10");
  EXPECT_EQ(idle[0].drained_by_wait_ns, 140'000);
  ASSERT_EQ(idle[0].largest.size(), 2U);
  EXPECT_EQ(idle[0].largest[0].at, (Interval{0, 420'000}));
  EXPECT_FALSE(idle[0].largest[0].blocked_by.has_value());
  EXPECT_EQ(idle[0].largest[1].blocked_by, call_named(facts.trace, "cudaStreamSynchronize"));
  EXPECT_EQ(idle[0].details[0].label, HostLabel::kDataLoader);
  expect_exact(facts, idle);
}

TEST(Idle, WorkQueuedLongBeforeIsAKernelGap) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                   ]
    call      [A][B]
    gpu/7         [K1==]    [K2====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  const auto idle = facts.idle();
  EXPECT_EQ(text_of(idle[0].blame_ns), "no_event 40 kernel_gap 40");
  EXPECT_EQ(text_of(idle[0].edges_ns), "launch_latency 40 kernel_gap 40");
  expect_exact(facts, idle);
}

TEST(Idle, WithoutALaunchTheGapIsUnlinked) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                   ]
    gpu/7         [K1==]    [K2====]
  )"));
  const auto idle = facts.idle();
  EXPECT_EQ(text_of(idle[0].blame_ns), "unlinked 80");
  expect_exact(facts, idle);
}

TEST(Idle, NothingFollowsBlamesMainUpToTheWindowsEnd) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                   ]
    op             [tail      ]
    gpu/7     [K1==]
  )"));
  const auto idle = facts.idle();
  EXPECT_EQ(text_of(idle[0].edges_ns), "operator 110 python 50");
  expect_exact(facts, idle);
}

TEST(Idle, TheBackwardThreadIsBlamedWhileMainStands) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                                  ]
    op        [fwd]
    op@bwd                [b1    ][b2     ]
    call       [A]
    call@bwd                        [B]
    gpu/7      [K1]                 [K2===========]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
      b1 = aten::mm
  )"));
  const auto idle = facts.idle();
  // [0,10) before the first launch; the gap [50,220): 80 us until the worker starts are main's own.
  EXPECT_EQ(text_of(idle[0].edges_ns), "operator 110 python 70");
  expect_exact(facts, idle);
}

TEST(Idle, AGapOverTwoStepsIsSplitAtTheBoundary) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [4         ][5         ]
    span              [data   ]
    call      [A]                [B]
    gpu/7     [K1====]           [K2=]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  const auto idle = facts.idle();
  ASSERT_EQ(idle[0].blame_by_step_ns.size(), 2U);
  EXPECT_EQ(text_of(idle[0].blame_by_step_ns[0]), "data_loader 40");
  EXPECT_EQ(text_of(idle[0].blame_by_step_ns[1]), "data_loader 50 python 20");
  expect_exact(facts, idle);
}

TEST(Idle, TwoDevicesEachHaveTheirOwnAccount) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                   ]
    call      [A]    [B]
    gpu/7     [K1======]
    gpu1/7           [K2=====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  const auto idle = facts.idle();
  ASSERT_EQ(idle.size(), 2U);
  expect_exact(facts, idle);
}

// Random traces, drawn by numbers instead of pictures.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  Trace build() {
    Builder builder;
    Fragment fragment;
    const ThreadId threads[] = {fragment.thread("1", "main"), fragment.thread("1", "bwd"), fragment.thread("2", "x")};
    for (int step = 0; step < 4; ++step) {
      Spans::Row row;
      row.start_ns = step * 250;
      row.end_ns = row.start_ns + (step == 2 ? 200 : 250);  // a hole between two steps
      row.thread = threads[0];
      row.name = fragment.strings.intern("ProfilerStep#" + std::to_string(step));
      fragment.spans.push_back(row);
    }
    for (int i = 0; i < 40; ++i) add_host_row(fragment, threads[below(3)]);
    for (int i = 0; i < 60; ++i) add_gpu_event(fragment);
    builder.add(std::move(fragment));
    return builder.finish(1);
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void add_host_row(Fragment& fragment, ThreadId thread) {
    static constexpr std::string_view kNames[] = {"aten::mm", "Optimizer.step#Adam.step", "autograd::engine::x"};
    static constexpr std::string_view kSpans[] = {"data", "checkpoint", "forward"};
    static constexpr std::string_view kCalls[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaFree",
                                                  "cudaMemcpyAsync", "cudaEventRecord"};
    const TimeNs start_ns = below(1100) - 50, end_ns = start_ns + below(below(4) == 0 ? 300 : 30);
    Ops::Row op;
    Spans::Row span;
    Calls::Row call;
    op.start_ns = span.start_ns = call.start_ns = start_ns;
    op.end_ns = span.end_ns = call.end_ns = end_ns;
    op.thread = span.thread = call.thread = thread;
    op.name = fragment.strings.intern(kNames[below(3)]);
    span.name = fragment.strings.intern(kSpans[below(3)]);
    call.name = fragment.strings.intern(kCalls[below(5)]);
    call.correlation = ++correlation_;
    switch (below(4)) {
      case 0:
        fragment.spans.push_back(span);
        break;
      case 1:
        fragment.ops.push_back(op);
        break;
      default:
        fragment.calls.push_back(call);
        break;
    }
  }
  void add_gpu_event(Fragment& fragment) {
    GpuEvents::Row row;
    row.start_ns = below(1100) - 50;
    row.end_ns = row.start_ns + below(12);
    const int device = below(2);
    row.device = fragment.device(device);
    row.stream = fragment.stream(device, below(2) == 0 ? "7" : "20");
    row.kind = below(4) == 0 ? GpuEventKind::kCopy : GpuEventKind::kKernel;
    row.name = fragment.strings.intern(row.kind == GpuEventKind::kCopy ? "Memcpy DtoH (Device -> Pageable)" : "gemm");
    row.correlation = below(40);
    fragment.gpu_events.push_back(row);
  }

  std::mt19937 random_;
  std::int64_t correlation_ = 0;
};

TEST(Idle, PartsAddUpOnRandomTraces) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const IdleTestFacts facts(RandomTrace(seed).build());
    expect_exact(facts, facts.idle());
    for (const Wait& wait : facts.waits()) EXPECT_LE(wait.launches_to_come_ratio, 1.0);
    if (HasFailure()) return;
  }
}

// A file of more devices than any process drives: the busiest and the main one have the causes that each would have
// alone, the others none, so that the cost is not devices times host events.
TEST(Idle, OfThousandsOfDevicesTheBusiestHaveCauses) {
  constexpr int kDevices = 400;
  std::mt19937 random(7);
  const auto below = [&](int limit) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit)); };
  Fragment fragment;
  const auto main = fragment.thread("1", "main");
  for (int k = 0; k < 3; ++k) {
    Spans::Row span;
    span.start_ns = k * 1'000'000;
    span.end_ns = span.start_ns + 1'000'000;
    span.thread = main;
    span.name = fragment.strings.intern("ProfilerStep#" + std::to_string(k));
    fragment.spans.push_back(span);
  }
  for (int device = 0; device < kDevices; ++device) {
    Calls::Row call;
    call.start_ns = below(2'900'000);
    call.end_ns = call.start_ns + 100;
    call.thread = main;
    call.name = fragment.strings.intern("cudaLaunchKernel");
    call.correlation = device + 1;
    fragment.calls.push_back(call);
    GpuEvents::Row event;
    event.start_ns = call.start_ns + 50 + below(5'000);
    event.end_ns = event.start_ns + 1 + below(90'000);
    event.device = fragment.device(device);
    event.stream = fragment.stream(device, "7");
    event.kind = GpuEventKind::kKernel;
    event.name = fragment.strings.intern("gemm");
    event.correlation = device + 1;
    fragment.gpu_events.push_back(event);
  }
  Builder builder;
  builder.add(std::move(fragment));
  IdleTestFacts facts(builder.finish(1));
  ASSERT_EQ(facts.busy.size(), static_cast<std::size_t>(kDevices));
  const auto idlest = static_cast<std::size_t>(
      std::min_element(facts.busy.begin(), facts.busy.end(),
                       [](const auto& a, const auto& b) { return a.gpu_busy_ns < b.gpu_busy_ns; }) -
      facts.busy.begin());
  const auto all =
      compute_idle(facts.trace, facts.timeline, facts.launches, facts.steps, facts.busy, facts.path, idlest);

  std::vector<DurationNs> busy_ns;
  for (const DeviceBusy& device : facts.busy) busy_ns.push_back(device.gpu_busy_ns);
  std::sort(busy_ns.rbegin(), busy_ns.rend());
  const DurationNs least_ns = busy_ns[kMostDevicesInFull - 1];
  std::size_t attributed = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    EXPECT_EQ(all[at].device, facts.busy[at].device);
    if (!all[at].attributed) {
      EXPECT_LE(facts.busy[at].gpu_busy_ns, least_ns);
      EXPECT_TRUE(all[at].blame_by_step_ns.empty() && all[at].details.empty() && all[at].largest.empty());
      continue;
    }
    ++attributed;
    EXPECT_TRUE(facts.busy[at].gpu_busy_ns >= least_ns || at == idlest);
    const auto alone =
        compute_idle(facts.trace, facts.timeline, facts.launches, facts.steps, {facts.busy[at]}, facts.path);
    EXPECT_EQ(all[at].blame_ns, alone.front().blame_ns);
    EXPECT_EQ(all[at].edges_by_step_ns, alone.front().edges_by_step_ns);
    EXPECT_EQ(sum(all[at].blame_ns), facts.busy[at].idle_ns);
  }
  EXPECT_EQ(attributed, kMostDevicesInFull + 1);
}

}  // namespace
}  // namespace stepscope
