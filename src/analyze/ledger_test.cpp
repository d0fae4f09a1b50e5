// What is counted, and when a headline is withheld.
#include "analyze/ledger.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

Ledger ledger_of(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  const Launches launches = compute_launches(trace, timeline);
  return compute_ledger(trace, timeline, launches, compute_steps(trace, timeline, launches, {}));
}

TEST(Ledger, AWholeRecordingShowsItsHeadline) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7         [K1=]        [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )"));
  EXPECT_EQ(ledger.launch_count, 2);
  EXPECT_EQ(ledger.gpu_event_count, 2);
  EXPECT_EQ(ledger.linked_gpu_event_count, 2);
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 0);
  EXPECT_EQ(ledger.steps_without_gpu_events_count, 0);
  EXPECT_EQ(ledger.largest_event_ratio, 0.5);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
}

// Kernels that stand before their launches by the given shift, in steps of 120 us.
Ledger ledger_of_early_kernels(int shift_ns) {
  const auto at = [&](int launch_ns) {
    return std::to_string(launch_ns - shift_ns) + ".." + std::to_string(launch_ns - shift_ns + 5'000) + "\n";
  };
  return ledger_of(trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7     [K1=]        [K2=]
    where
      L1 = cudaLaunchKernel corr 1 @ 60000..62000
      L2 = cudaLaunchKernel corr 2 @ 190000..192000
)"
                                   "      K1 = a corr 1 @ " +
                                   at(60'000) + "      K2 = a corr 2 @ " + at(190'000)));
}

TEST(Ledger, ClocksThatDisagreeByAQuarterOfAStepWithholdIt) {
  EXPECT_FALSE(ledger_of_early_kernels(20'000).headline_withheld);
  EXPECT_EQ(ledger_of_early_kernels(20'000).negative_latency_count, 2);
  EXPECT_EQ(ledger_of_early_kernels(50'000).headline_withheld,
            "the clocks of host and GPU disagree (2 of 2 launches come after the kernel they start)");
}

TEST(Ledger, LostKernelsWithholdIt) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7         [K1=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
  )"));
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 1);
  EXPECT_EQ(ledger.steps_without_gpu_events_count, 1);
  EXPECT_EQ(ledger.headline_withheld, "GPU data incomplete (1 of 2 launches have no kernel)");
}

TEST(Ledger, LaunchesInACutStepAreNotHeldAgainstTheOthers) {
  Trace trace = trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7         [K1=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
  )");
  trace.notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 1, "");
  const Ledger ledger = ledger_of(trace);
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 1);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
}

TEST(Ledger, LaunchesWhileAGraphIsCapturedStartNothing) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4                        ]
    call       [B][L1][L2][E] [L3]
    call@bwd        [L4]
    gpu/7                        [K3=]
    where
      B = cudaStreamBeginCapture
      E = cudaStreamEndCapture
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K3 = a corr 3
  )"));
  EXPECT_EQ(ledger.launch_count, 1);
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 0);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
}

TEST(Ledger, ASetOfNoBytesLeavesNoRecord) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4                ]
    call       [S1][L1]  [H1]
    gpu/7           [K1=]
    where
      S1 = cudaMemsetAsync corr 1
      L1 = cudaLaunchKernel corr 2
      H1 = cudaLaunchHostFunc corr 3
      K1 = a corr 2
  )"));
  EXPECT_EQ(ledger.launch_count, 1);
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 0);
}

TEST(Ledger, WorkQueuedBeforeRecordingIsCountedApart) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4                     ]
    call       [L1]
    gpu/7     [old][old][K1=][new]
    where
      L1 = cudaLaunchKernel corr 1
      K1 = a corr 1
  )"));
  EXPECT_EQ(ledger.leading_unlinked_gpu_event_count, 2);
  EXPECT_EQ(ledger.unlinked_gpu_event_count, 1);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
}

TEST(Ledger, AStepOfTheHostAloneIsNoLoss) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4          ][5          ][6          ]
    call       [L1]                      [L2]
    gpu/7         [K1=]                     [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )"));
  EXPECT_EQ(ledger.steps_without_gpu_events_count, 1);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
}

TEST(Ledger, WithoutCallsAnEmptyStepIsALoss) {
  const Ledger ledger = ledger_of(trace_from_text(R"(
    step      [4          ][5          ]
    gpu/7         [K1=]
  )"));
  EXPECT_EQ(ledger.headline_withheld, "GPU data incomplete (1 of 2 steps have no GPU event)");
}

TEST(Ledger, NothingOnTheGpuIsSaid) { EXPECT_EQ(ledger_of(Trace()).headline_withheld, "no GPU activity recorded"); }

TEST(Ledger, AProgramWithoutAGpuIsNoLoss) {
  const std::string picture = R"(
    step      [4          ][5          ]
    op          [mm]         [mm]
  )";
  const Ledger ledger = ledger_of(trace_from_text(picture));
  EXPECT_TRUE(ledger.is_host_only);
  EXPECT_EQ(ledger.steps_without_gpu_events_count, 0);
  EXPECT_FALSE(ledger.headline_withheld.has_value());
  // A GPU that the file knows of, and a file that lost something: its GPU part may be what is missing.
  Trace with_device = trace_from_text(picture);
  with_device.devices.push_back({});
  EXPECT_EQ(ledger_of(with_device).headline_withheld, "no GPU activity recorded");
  Trace cut = trace_from_text(picture);
  cut.notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 1, "");
  EXPECT_EQ(ledger_of(cut).headline_withheld, "no GPU activity in the part of the file that is left");
  EXPECT_FALSE(ledger_of(cut).is_host_only);
  Trace dropped = trace_from_text(picture);
  dropped.notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "");
  EXPECT_TRUE(ledger_of(dropped).is_host_only);
}

// Killed, or read while it runs: its launches would stand beside the operators.
TEST(Ledger, ACaptureWithoutAnEndMayBeOfTheHostAlone) {
  Trace trace = trace_from_text(R"(
    step      [4          ][5          ]
    op          [mm]         [mm]
  )");
  trace.notes.add(NoteKind::kEndedEarly, NoteSeverity::kLost, 1, "");
  EXPECT_TRUE(ledger_of(trace).is_host_only);
  EXPECT_FALSE(ledger_of(trace).headline_withheld.has_value());
  trace.devices.push_back({});
  EXPECT_FALSE(ledger_of(trace).is_host_only);
}

TEST(Ledger, ImpossibleDurationsOfHalfTheGpuEventsWithholdIt) {
  Trace trace = trace_from_text(R"(
    step      [4                     ]
    gpu/7      [K1=][K2=][K3=]
  )");
  trace.gpu_events.fault[gpu_event_named(trace, "K1")] = TimeFault::kBadDuration;
  EXPECT_FALSE(ledger_of(trace).headline_withheld.has_value());
  trace.gpu_events.fault[gpu_event_named(trace, "K3")] = TimeFault::kBadDuration;
  EXPECT_EQ(ledger_of(trace).headline_withheld, "GPU data incomplete (2 of 3 GPU events have an impossible duration)");
}

TEST(Ledger, StepsOfNoLengthWithholdIt) {
  Trace trace = trace_from_text(R"(
    step      [4    ][5    ]
    op         [mm]   [mm]
  )");
  for (const SpanId span : trace.spans.ids().ids()) trace.spans.start_ns[span] = trace.spans.end_ns[span] = 0;
  EXPECT_EQ(ledger_of(trace).headline_withheld, "the steps take no time: the times of this file cannot be right");
}

TEST(Ledger, AnUnsoundFileWithholdsIt) {
  Trace trace = trace_from_text(R"(
    step      [4          ]
    gpu/7         [K1=]
  )");
  trace.notes.add(NoteKind::kInterleavedWriters, NoteSeverity::kUnsound, 1, "");
  EXPECT_NE(ledger_of(trace).headline_withheld->find("two writers"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
