// The graph, drawn: each kind of edge, and that the unchanged replay gives the recorded times.
#include "analyze/replay/graph.h"

#include <gtest/gtest.h>

#include "analyze/replay/replay_picture.h"

namespace stepscope {
namespace {

// Two queued kernels, then one that waits for its launch.
constexpr std::string_view kQueue = R"(
    step      [1                                    ]
    call      [A][B]                  [C]
    gpu/7        [K1======][K2=====]     [K3====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
)";

TEST(ReplayGraph, AUnitWaitsForItsLaunchAndItsStream) {
  const ReplayPicture picture(trace_from_text(kQueue));
  ASSERT_FALSE(picture.refused);
  EXPECT_EQ(picture.graph.units.size(), 3U);
  EXPECT_EQ(picture.edges_into("a"), std::vector{EdgeKind::kLaunch});
  EXPECT_EQ(picture.edges_into("b"), (std::vector{EdgeKind::kLaunch, EdgeKind::kStream}));
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  EXPECT_EQ(picture.step_us(Transform::kUnchanged), std::vector{390.0});
}

// Without the host's time before C, the third kernel follows the second at once.
TEST(ReplayGraph, WithoutHostWorkTheQueueRunsThrough) {
  const ReplayPicture picture(trace_from_text(kQueue));
  const double step_us = picture.step_us(Transform::kHostZero).front();
  const DurationNs gap = picture.graph.stream_gap_ns;
  // Launch latency, three kernels of 100, 90 and 80 us, gaps of at most the median.
  EXPECT_NEAR(step_us, 30 + 100 + 90 + 80 + static_cast<double>(gap) / 1e3, 0.001);
}

TEST(ReplayGraph, EdgesRunForward) {
  const ReplayPicture picture(trace_from_text(kQueue));
  for (const ReplayEdge& edge : picture.graph.edges) EXPECT_LT(edge.from, edge.to);
}

// A start that comes later than latency and gap explain keeps the rest as a residual.
TEST(ReplayGraph, UnexplainedDelayStaysOnTheEdgeThatBinds) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                             ]
    call      [A]     [B]     [C]     [D]
    gpu/7        [K1]    [K2]    [K3]             [K4====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      D = cudaLaunchKernel corr 4
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      K4 = d corr 4
  )"));
  DurationNs residual = 0;
  for (const ReplayEdge& edge : picture.graph.edges) residual += edge.residual_ns;
  EXPECT_EQ(picture.launches.latency_ns(false), 30'000);
  EXPECT_EQ(residual, 90'000);  // D to K4 takes 120 us, of which 30 are latency
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  EXPECT_EQ(picture.what_ifs().self_check.unexplained_ns, 90'000);
}

// The autograd thread runs while main stands still.
TEST(ReplayGraph, WorkIsHandedToAnotherThreadAndBack) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                              ]
    op        [fwd   ]                            [opt     ]
    call        [A]                                 [C]
    op@bwd              [autograd       ]
    call@bwd               [B]
    gpu/7          [K1======]  [K2======]              [K3==]
    where
      autograd = autograd::engine::evaluate_function: MmBackward0
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
  )"));
  ASSERT_EQ(picture.path.handoffs().size(), 1U);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  // All host work gone, backward's too: the last kernel is launched at once.
  EXPECT_LT(picture.step_us(Transform::kHostZero).front(), 300);
}

// A worker beside main that comes out of silence follows main.
TEST(ReplayGraph, AThreadOutOfSilenceFollowsMain) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                             ]
    span      [data                            ]
    op                                           [mm  ]
    op@copy         [get]                         [put   ]
    call@copy                                      [B]
    gpu/7                                             [K=====]
    where
      B = cudaLaunchKernel corr 1
      K = a corr 1
  )"));
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  EXPECT_LT(picture.step_us(Transform::kLoaderReady).front(), picture.step_us(Transform::kUnchanged).front() - 200);
}

// Several events of one launch: one unit, rigid over its streams.
TEST(ReplayGraph, AGraphLaunchIsOneRigidUnit) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                              ]
    call      [G]                [S       ]
    gpu/7        [K1====]   [K2====]
    gpu/20         [K3========]
    where
      G = cudaGraphLaunch corr 1
      K1 = a corr 1
      K2 = b corr 1
      K3 = c corr 1
      S = cudaDeviceSynchronize
  )"));
  ASSERT_EQ(picture.graph.units.size(), 1U);
  EXPECT_EQ(picture.graph.ends.size(), 2U);
  EXPECT_EQ(picture.graph.events_of(picture.graph.units[UnitId(std::size_t{0})]).size(), 3U);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

TEST(ReplayGraph, AnEventWithoutALaunchKeepsItsDistanceFromTheStep) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                    ]
    call      [A]
    gpu/7        [K1==]
    gpu/20              [K2==]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      K2 = b
  )"));
  EXPECT_EQ(picture.edges_into("b"), std::vector{EdgeKind::kOrder});
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

// Events and launches that contradict each other by the clocks are used as far as they go.
TEST(ReplayGraph, AKernelBeforeItsLaunchIsKept) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                    ]
    call      [A]     [B]
    gpu/7        [K1=]  [K2==]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2 @ 79000..120000
  )"));
  ASSERT_FALSE(picture.refused);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

TEST(ReplayGraph, ACycleIsRefused) {
  ReplayGraph graph;
  const NodeId a = graph.add_node(10), b = graph.add_node(20);
  graph.edges.push_back({a, b, EdgeKind::kOrder});
  graph.edges.push_back({b, a, EdgeKind::kOrder});
  EXPECT_FALSE(number_nodes(graph));
  graph.edges.pop_back();
  EXPECT_TRUE(number_nodes(graph));
}

}  // namespace
}  // namespace stepscope
