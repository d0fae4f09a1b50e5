// The small facts that rules read beside the large ones: copies, allocation calls, launch returns, warm-up signs.
#include <gtest/gtest.h>

#include "analyze/allocation_calls.h"
#include "analyze/host_copies.h"
#include "analyze/kernel_totals.h"
#include "analyze/launch_returns.h"
#include "analyze/named_stretches.h"
#include "analyze/warm_up_events.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

class RuleFacts : public testing::Test {
 protected:
  void draw(std::string_view picture) {
    trace = trace_from_text(picture);
    timeline = compute_gpu_timeline(trace);
    classes = compute_kernel_classes(trace);
    steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  }
  Trace trace;
  GpuTimeline timeline;
  KernelClasses classes;
  Steps steps;
};

TEST_F(RuleFacts, pageable_copies_and_what_no_kernel_covers) {
  draw(R"(
    step      [4                           ][5                  ]
    call       [L1][L2][L3]                  [L4]
    gpu/7        [C1========]                  [C4]
    gpu/8              [K2=]  [C3=]
    where
      L1 = cudaMemcpyAsync corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaMemcpyAsync corr 3
      L4 = cudaMemcpyAsync corr 4
      C1 = Memcpy HtoD (Pageable -> Device) corr 1 bytes 8000000
      K2 = gemm corr 2
      C3 = Memcpy HtoD (Pinned -> Device) corr 3 bytes 2000000
      C4 = Memcpy HtoD (Pageable -> Device) corr 4 bytes 1000
  )");
  const PageableCopies copies = compute_pageable_copies(trace, timeline, steps, DeviceId(0));
  EXPECT_EQ(copies.count, 2);
  EXPECT_EQ(copies.bytes, 8'001'000);
  EXPECT_EQ(copies.gpu_sum_ns, 160'000);
  EXPECT_EQ(copies.exposed_ns, 110'000);  // K2 covers 50 us of C1
  EXPECT_EQ(copies.largest, gpu_event_named(trace, "Memcpy HtoD (Pageable -> Device)"));
  EXPECT_DOUBLE_EQ(*copies.pinned_bytes_per_s, 40e9);

  const auto totals = compute_copy_totals(trace, timeline, steps, DeviceId(0));
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(trace.text(totals[0].name), "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(totals[0].count, 2);
}

TEST_F(RuleFacts, allocation_calls_by_step) {
  draw(R"(
    step      [4          ][5          ]
    call       [A1][F1]     [A2]  [H]     [A3]
    where
      A1 = cudaMalloc
      F1 = cudaFree
      A2 = cudaMalloc
      H = cudaHostAlloc
      A3 = cudaMalloc
  )");
  const AllocationCalls calls = compute_allocation_calls(trace, steps);
  EXPECT_EQ(calls.allocations_by_step_count, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(calls.frees_by_step_count, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(calls.call_sum_ns, 120'000);
}

TEST_F(RuleFacts, calls_that_return_after_their_kernel) {
  draw(R"(
    step      [4                                        ]
    call       [L1======]   [L2]       [L3=]
    gpu/7        [K1==]       [K2==]     [K]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = gemm corr 1
      K2 = gemm corr 2
      K = short corr 3 @ 300000..319000
  )");
  const LaunchReturns returns = compute_launch_returns(trace, timeline, steps.window);
  EXPECT_EQ(returns.kernel_count, 2);  // the third is too short to tell
  EXPECT_EQ(returns.ended_first_count, 1);
}

TEST_F(RuleFacts, a_kernel_that_starts_before_its_call_says_nothing_of_the_return) {
  draw(R"(
    step      [4                                        ]
    call               [L1=]           [L2=]
    gpu/7       [K1===]          [K2===]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = gemm corr 1
      K2 = gemm corr 2
  )");
  EXPECT_EQ(compute_launch_returns(trace, timeline, steps.window).kernel_count, 0);
}

TEST_F(RuleFacts, signs_of_warm_up_inside_steps) {
  draw(R"(
    step      [4                  ][5                  ]
    span       [C======]
    call                            [M===]                 [M2]
    where
      C = _compile.compile_inner (dynamo_timed)
      M = cuModuleLoadData
      M2 = cuModuleLoadData
  )");
  const WarmUpEvents events = compute_warm_up_events(trace, steps);
  EXPECT_EQ(events.of(WarmUpKind::kCompile).count, 1);
  EXPECT_EQ(events.of(WarmUpKind::kModuleLoad).count, 1);  // the second lies outside
  EXPECT_EQ(events.of(WarmUpKind::kAutotune).count, 0);
  EXPECT_TRUE(events.has_sign(0) && events.has_sign(1));
  EXPECT_EQ(events.step_count(false), 2);
  EXPECT_EQ(events.by_step[1][static_cast<std::size_t>(WarmUpKind::kCompile)].count, 0);
}

TEST_F(RuleFacts, a_compilation_after_three_steps_without_a_sign_is_no_warm_up) {
  draw(R"(
    step      [1   ][2   ][3   ][4   ][5   ][6   ][7   ]
    span       [C]         [C]                     [C]
    call       [M]         [M]                     [M]
    where
      C = _compile.compile_inner (dynamo_timed)
      M = cuModuleLoadData
  )");
  const WarmUpEvents events = compute_warm_up_events(trace, steps);
  EXPECT_EQ(events.step_recompiles, (std::vector<bool>{false, false, false, false, false, false, true}));
  EXPECT_EQ(events.of(WarmUpKind::kCompile).count, 3);
  EXPECT_EQ(events.of(WarmUpKind::kCompile, false).count, 2);
  EXPECT_EQ(events.of(WarmUpKind::kModuleLoad, true).count, 1) << "what the compilation loads belongs to it";
  EXPECT_EQ(events.step_count(false), 2);
  EXPECT_EQ(events.step_count(true), 1);
}

TEST_F(RuleFacts, kernel_totals_and_named_stretches) {
  draw(R"(
    step      [4                        ]
    span       [data ]  [data   ]
    call          [L1][L2][L3]
    gpu/7             [K1=][K2==][K3=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = b corr 2
      K3 = a corr 3
  )");
  const auto totals = compute_kernel_totals(trace, timeline, classes, steps, DeviceId(0));
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(trace.text(totals[0].name), "a");
  EXPECT_EQ(totals[0].count, 2);
  EXPECT_EQ(totals[0].gpu_sum_ns, 100'000);

  const NamedStretches data = compute_named_stretches(trace, steps, trace.strings.find("data"));
  EXPECT_EQ(data.count, 2);
  EXPECT_EQ(data.sum_ns, 160'000);
  EXPECT_EQ(data.longest.length_ns(), 90'000);
  EXPECT_EQ(compute_named_stretches(trace, steps, StringId{}).count, 0);
}

}  // namespace
}  // namespace stepscope
