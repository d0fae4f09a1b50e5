// Collectives of gloo: which of them the training thread waits for.
#include "analyze/host_collectives.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = 1'000'000;
constexpr PictureOptions kMsColumns{kMs};

HostCollectives found_in(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  const Steps steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  return find_host_collectives(trace, steps, HostPath::build(trace, steps));
}

TEST(HostCollectives, a_wait_ends_when_its_collective_does) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5               ]
    op        [mm]          [sgd]           [mm      ][sgd]
    span@gloo     [R=======]
    where
      R = gloo:all_reduce
  )",
                                      kMsColumns);
  const HostCollectives found = found_in(trace);
  ASSERT_EQ(found.all.size(), 1U);
  EXPECT_EQ(trace.text(found.all[0].name), "gloo:all_reduce");
  EXPECT_EQ(found.all[0].step, 0U);
  EXPECT_EQ(found.all[0].waited_ns, 10 * kMs);
  EXPECT_EQ(length_ns(found.waits), 10 * kMs);
}

// A pause of 20 ms beside a collective of 4 that was begun before: nobody waits for it.
TEST(HostCollectives, a_pause_that_outlasts_the_collective_is_none_of_its) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5               ]
    op        [mm]                    [sgd] [mm      ][sgd]
    op@gloo       [R==]
    where
      R = gloo:all_reduce
  )",
                                      kMsColumns);
  const HostCollectives found = found_in(trace);
  ASSERT_EQ(found.all.size(), 1U);
  EXPECT_EQ(found.all[0].waited_ns, 0);
  EXPECT_TRUE(found.waits.empty());
}

TEST(HostCollectives, of_several_at_once_all_are_waited_for) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5               ]
    op        [mm]                   [sgd]  [mm      ][sgd]
    span@one      [R=======]
    span@two             [S==========]
    where
      R = gloo:all_reduce
      S = gloo:broadcast
  )",
                                      kMsColumns);
  const HostCollectives found = found_in(trace);
  ASSERT_EQ(found.all.size(), 2U);
  EXPECT_EQ(found.all[0].waited_ns, 10 * kMs);
  EXPECT_EQ(found.all[1].waited_ns, 12 * kMs);
  EXPECT_EQ(length_ns(found.waits), 19 * kMs) << "the time in which both run is one wait";
}

TEST(HostCollectives, under_operators_nobody_waits) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ][5               ]
    op        [mm                    ][sgd] [mm      ][sgd]
    span@gloo     [R=======]
    where
      R = gloo:all_reduce
  )",
                                      kMsColumns);
  EXPECT_EQ(found_in(trace).all.at(0).waited_ns, 0);
}

}  // namespace
}  // namespace stepscope
