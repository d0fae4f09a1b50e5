// Latencies: signed, of the first event of a launch only, and L from launches that found their stream empty.
#include "analyze/launches.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

Launches launches_of(const Trace& trace) { return compute_launches(trace, compute_gpu_timeline(trace)); }

TEST(Launches, LatencyFromTheStartOfTheCall) {
  const Trace trace = trace_from_text(R"(
    call      [L1]      [L2]      [L3]
    gpu/7          [K1=]     [K2=]      [K3=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
  )");
  const Launches launches = launches_of(trace);
  EXPECT_EQ(launches.launch_count, 3);
  EXPECT_EQ(launches.latency_count, 3);
  EXPECT_EQ(launches.median_latency_ns, 50'000);
  EXPECT_EQ(launches.plain_latency_ns, 55'000) << "the first event of the stream proves nothing; 50 and 60 do";
  EXPECT_EQ(launches.max_queue_depth_count, 1);
  EXPECT_EQ(launches.kernel_count, 3);
  EXPECT_EQ(launches.short_kernel_count, 0);
}

TEST(Launches, ANegativeLatencyIsCountedAndNeverFolded) {
  const Trace trace = trace_from_text(R"(
    call      [L1]      [L2]      [L3]
    gpu/7          [K1=]      [K2]     [K3=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1 @ 80000..90000
      K2 = a corr 2 @ 97000..120000
      K3 = a corr 3 @ 280000..300000
  )");
  const Launches launches = launches_of(trace);
  EXPECT_EQ(launches.negative_latency_count, 1);
  EXPECT_EQ(launches.min_latency_ns, -3'000);
  EXPECT_EQ(launches.median_latency_ns, 80'000);
  EXPECT_EQ(launches.plain_latency_ns, 80'000);
}

TEST(Launches, OfOneDeviceAlone) {
  const Trace trace = trace_from_text(R"(
    call      [L1][M1][M2][G=]
    gpu/7          [K1===]     [A][B]
    gpu1/7             [N1][N2]      [C]
    where
      L1 = cudaLaunchKernel corr 1
      M1 = cudaLaunchKernel corr 2
      M2 = cudaLaunchKernel corr 3
      G = cudaGraphLaunch corr 4
      K1 = a corr 1
      N1 = b corr 2
      N2 = b corr 3
      A = a corr 4
      B = a corr 4
      C = b corr 4
  )");
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  EXPECT_EQ(compute_launches(trace, timeline).kernel_count, 6);
  const Launches first = compute_launches(trace, timeline, DeviceId(0));
  EXPECT_EQ(first.launch_count, 2);
  EXPECT_EQ(first.latency_count, 2);
  EXPECT_EQ(first.kernel_count, 3);
  EXPECT_EQ(first.graph_launch_count, 1);
  EXPECT_EQ(first.graph_event_count, 2);
  EXPECT_EQ(first.max_queue_depth_count, 1);
  const Launches second = compute_launches(trace, timeline, DeviceId(1));
  EXPECT_EQ(second.launch_count, 3);
  EXPECT_EQ(second.latency_count, 2) << "the graph's first event runs on the other device";
  EXPECT_EQ(second.kernel_count, 3);
  EXPECT_EQ(second.graph_event_count, 1);
  EXPECT_EQ(second.median_kernel_ns, 40'000);
}

TEST(Launches, AGraphIsOneLaunchWithOneLatency) {
  const Trace trace = trace_from_text(R"(
    call      [G1]               [G2]
    gpu/7          [A][B]             [C][D]
    where
      G1 = cudaGraphLaunch corr 1
      G2 = cudaGraphLaunch corr 2
      A = a corr 1
      B = b corr 1
      C = a corr 2
      D = b corr 2
  )");
  const Launches launches = launches_of(trace);
  EXPECT_EQ(launches.launch_count, 2);
  EXPECT_EQ(launches.latency_count, 2);
  EXPECT_EQ(launches.graph_launch_count, 2);
  EXPECT_EQ(launches.graph_event_count, 4);
  EXPECT_EQ(launches.graph_latency_ns, 50'000);
  EXPECT_FALSE(launches.plain_latency_ns.has_value());
  EXPECT_EQ(launches.latency_ns(false), 6'000);
}

TEST(Launches, QueueDepthGrowsWhileTheGpuIsBusy) {
  const Trace trace = trace_from_text(R"(
    call      [L1][L2][L3]
    gpu/7         [K1=======][K2=====][K3====]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
  )");
  const Launches launches = launches_of(trace);
  EXPECT_EQ(launches.max_queue_depth_count, 3);
  // Lives 150, 200 and 240 of 320 us.
  ASSERT_TRUE(launches.mean_queue_depth.has_value());
  EXPECT_NEAR(*launches.mean_queue_depth, (150 + 200 + 240) / 320.0, 1e-9);
  const auto samples = compute_queue_depth(trace, compute_gpu_timeline(trace));
  ASSERT_EQ(samples.size(), 6U);
  EXPECT_EQ(samples.back().depth_count, 0);
}

TEST(Launches, NothingLaunchedGivesNothing) {
  const Launches launches = launches_of(Trace());
  EXPECT_EQ(launches.launch_count, 0);
  EXPECT_FALSE(launches.median_latency_ns.has_value());
  EXPECT_FALSE(launches.mean_queue_depth.has_value());
}

}  // namespace
}  // namespace stepscope
