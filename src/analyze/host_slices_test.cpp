// A thread's slices, drawn: nesting, partial overlaps, spans that outrank what they hold.
#include "analyze/host_slices.h"

#include <gtest/gtest.h>

#include "analyze/handoffs.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// "0-2 operator aten::mm | ...", times in columns of 10 us.
std::string slices_of(const Trace& trace, std::string_view thread = "main", std::vector<HostSlice> more = {}) {
  const HostNames names(trace);
  std::string text;
  for (const HostSlice& slice : cut_thread(trace, names, thread_named(trace, thread), more, false).slices) {
    if (!text.empty()) text += " | ";
    text += std::to_string(slice.start_ns / 10'000) + "-" + std::to_string(slice.end_ns / 10'000) + " " +
            std::string(host_label_name(slice.label)) + " " + std::string(trace.text(slice.detail));
  }
  return text;
}

TEST(HostSlices, TheInnermostEventNamesTheInstant) {
  const Trace trace = trace_from_text(R"(
    span      [fwd                ]
    op          [linear      ]
    op            [mm     ]
    call            [L1]
    where
      fwd = forward
      L1 = cudaLaunchKernel corr 1
  )");
  EXPECT_EQ(slices_of(trace),
            "0-2 python forward | 2-4 operator linear | 4-6 operator mm | 6-10 launch cudaLaunchKernel | "
            "10-13 operator mm | 13-16 operator linear | 16-21 python forward");
}

TEST(HostSlices, HolesStayHolesAndNeighboursOfOneNameJoin) {
  const Trace trace = trace_from_text(R"(
    op        [mm][mm]    [mm]
  )");
  EXPECT_EQ(slices_of(trace), "0-8 operator mm | 12-16 operator mm");
}

TEST(HostSlices, ALoaderSpanOutranksAllInsideEvenWhatOutlivesIt) {
  const Trace trace = trace_from_text(R"(
    span      [e         ]
    op          [a ] [late     ]
    where
      e = enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
  )");
  EXPECT_EQ(slices_of(trace),
            "0-12 data_loader enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ | 12-18 operator late");
}

TEST(HostSlices, PartialOverlapGoesToTheLaterStart) {
  const Trace trace = trace_from_text(R"(
    op        [first   ]
    op             [second    ]
    op          [in]
  )");
  EXPECT_EQ(slices_of(trace), "0-2 operator first | 2-5 operator in | 5-17 operator second");
}

TEST(HostSlices, OptimizerTakesOperatorsAndPythonButNotCalls) {
  const Trace trace = trace_from_text(R"(
    span      [o                  ]
    op          [add     ]
    call          [L1]
    where
      o = Optimizer.step#AdamW.step
      L1 = cudaLaunchKernel corr 1
  )");
  EXPECT_EQ(slices_of(trace),
            "0-2 optimizer Optimizer.step#AdamW.step | 2-4 optimizer add | 4-8 launch cudaLaunchKernel | "
            "8-12 optimizer add | 12-21 optimizer Optimizer.step#AdamW.step");
}

TEST(HostSlices, EveryKindOfCallHasItsLabel) {
  const Trace trace = trace_from_text(R"(
    call      [a ] [b ] [c       ] [d ] [e ] [f ]
    gpu/7                  [C=]     [D=====]
    where
      a = cudaStreamSynchronize
      b = cudaMalloc
      c = cudaMemcpyAsync corr 3
      d = cudaMemcpyAsync corr 4
      e = cudaEventRecord
      f = cudaMemsetAsync
      C = Memcpy DtoH (Device -> Pageable) corr 3
      D = Memcpy HtoD (Pinned -> Device) corr 4
  )");
  EXPECT_EQ(
      slices_of(trace),
      "0-4 synchronization cudaStreamSynchronize | 5-9 allocator cudaMalloc | 10-20 blocking_copy cudaMemcpyAsync | "
      "21-25 launch cudaMemcpyAsync | 26-30 other_api cudaEventRecord | 31-35 launch cudaMemsetAsync");
}

TEST(HostSlices, RowsFromElsewhereTakePart) {
  const Trace trace = trace_from_text(R"(
    op        [outer             ]
    op                [late]
  )");
  EXPECT_EQ(slices_of(trace, "main",
                      {{20'000, 40'000, HostLabel::kProfiler, {}}, {60'000, 230'000, HostLabel::kCheckpoint, {}}}),
            "0-2 operator outer | 2-4 profiler  | 4-6 operator outer | 6-23 checkpoint ");
}

TEST(HostSlices, StepsOfAllNumbersGoByOneName) {
  const Trace trace = trace_from_text(R"(
    step      [4   ][5   ]
  )");
  EXPECT_EQ(slices_of(trace), "0-12 python ProfilerStep#4");
}

TEST(HostSlices, BoundariesAreSortedDespiteOverlaps) {
  const Trace trace = trace_from_text(R"(
    op        [first   ]
    op             [second    ]
  )");
  const ThreadCut cut = cut_thread(trace, HostNames(trace), thread_named(trace, "main"), {}, true);
  EXPECT_EQ(cut.boundaries, (std::vector<TimeNs>{0, 50'000, 100'000, 170'000}));
}

TEST(Handoffs, MainStandsStillWhileTheWorkerMoves) {
  const Trace trace = trace_from_text(R"(
    op        [fwd ]                         [opt ]
    op@bwd             [b1 ] [b2   ]
    op@side              [lone]         [concurrent]
  )");
  const ThreadCut cut = cut_thread(trace, HostNames(trace), thread_named(trace, "main"), {}, true);
  const ThreadId bwd = thread_named(trace, "bwd"), side = thread_named(trace, "side");
  const std::vector<ThreadId> workers = {bwd, side};
  const std::vector<Handoff> handoffs = find_handoffs(trace, workers, cut.boundaries);
  ASSERT_EQ(handoffs.size(), 2U);
  EXPECT_EQ(handoffs[0].worker, bwd);
  EXPECT_EQ(handoffs[0].start_ns, 90'000);
  EXPECT_EQ(handoffs[0].end_ns, 220'000);
  EXPECT_EQ(handoffs[0].fork_ns, 60'000);
  EXPECT_EQ(handoffs[0].join_ns, 310'000);
  EXPECT_EQ(handoffs[1].worker, side);
  EXPECT_EQ(handoffs[1].end_ns, 170'000);
  const std::vector<MainWait> waits = resolve_waits(handoffs);
  ASSERT_EQ(waits.size(), 1U) << "main goes on when the last worker is done";
  EXPECT_EQ(waits[0].worker, bwd);
}

TEST(Handoffs, OfOverlappingOnesTheLaterEndWins) {
  const ThreadId a(0), b(1);
  const std::vector<Handoff> handoffs = {{0, 50, 0, 100, a}, {20, 80, 0, 100, b}, {90, 95, 80, 100, a}};
  const std::vector<MainWait> waits = resolve_waits(handoffs);
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0].end_ns, 20);
  EXPECT_EQ(waits[1].start_ns, 20);
  EXPECT_EQ(waits[1].worker, b);
  EXPECT_EQ(waits[2].start_ns, 90);
}

}  // namespace
}  // namespace stepscope
