// host-pause and garbage-collection: one measurement, two names.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_pause(double saving, std::string_view what, bool is_garbage_collection) {
  MadeRun run(100 * MadeRun::kMs);
  run.set_saving(Transform::kPausesRemoved, saving);
  run.blame(HostLabel::kNoEvent, static_cast<DurationNs>(saving * 100e6));
  run.facts.what_ifs.pauses = {{std::string(what),
                                is_garbage_collection,
                                static_cast<DurationNs>(saving * 100e6),
                                4,
                                {MadeRun::kMs, 6 * MadeRun::kMs}}};
  return run;
}

TEST(HostPause, from_five_percent_on) {
  MadeRun silent = run_with_pause(0.045, "host, no event", false);
  EXPECT_FALSE(find_host_pause(silent.input()));
  MadeRun fault = run_with_pause(0.055, "host, no event", false);
  const auto finding = find_host_pause(fault.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_NE(finding->advice.front().find("with_stack=True"), std::string::npos);
  EXPECT_FALSE(find_garbage_collection(fault.input()));
}

TEST(HostPause, names_the_frame_where_there_is_one) {
  MadeRun run = run_with_pause(0.2, "train.py(88): augment", false);
  EXPECT_EQ(find_host_pause(run.input())->title,
            "train.py(88): augment holds the training thread for 20.0 ms a step and launches nothing");
}

TEST(HostPause, names_the_spans_around_a_silent_stretch) {
  MadeRun run = run_with_pause(0.2, "host, no event", false);
  run.span("data", 0, 500'000);
  run.span("h2d", 7 * MadeRun::kMs, 500'000);
  EXPECT_NE(find_host_pause(run.input())->title.find("after span data, before span h2d"), std::string::npos);
}

TEST(GarbageCollection, from_five_percent_on) {
  MadeRun silent = run_with_pause(0.045, "<built-in function collect>", true);
  EXPECT_FALSE(find_garbage_collection(silent.input()));
  MadeRun fault = run_with_pause(0.055, "<built-in function collect>", true);
  ASSERT_TRUE(find_garbage_collection(fault.input()));
  EXPECT_FALSE(find_host_pause(fault.input()));
}

TEST(GarbageCollection, two_kinds_of_pause_share_the_saving) {
  MadeRun run = run_with_pause(0.4, "<built-in function collect>", true);
  run.facts.what_ifs.pauses.push_back({"host, no event", false, 10 * MadeRun::kMs, 4, {}});
  EXPECT_EQ(find_garbage_collection(run.input())->saving->mid_ns, 32 * MadeRun::kMs);
  EXPECT_EQ(find_host_pause(run.input())->saving->mid_ns, 8 * MadeRun::kMs);
}

// Without the pause of one step the median is another step's.
TEST(HostPause, saves_no_more_than_pauses_cost_in_the_typical_step) {
  MadeRun run = run_with_pause(0.4, "train.py(88): augment", false);
  for (const std::size_t step : {0U, 1U, 2U}) {
    run.facts.idle.front().blame_by_step_ns[step][static_cast<std::size_t>(HostLabel::kNoEvent)] = 10 * MadeRun::kMs;
  }
  const auto finding = find_host_pause(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->saving->mid_ns, 10 * MadeRun::kMs);
  EXPECT_LE(finding->saving->high_ns, 10 * MadeRun::kMs);
}

// 40 ms in two steps of three; in the others the loader, which could not catch up, keeps the GPU waiting for 25 ms.
TEST(HostPause, does_not_promise_the_wait_for_data_that_it_hides) {
  MadeRun run(100 * MadeRun::kMs, 6);
  run.set_saving(Transform::kPausesRemoved, 0.4);
  run.facts.what_ifs.pauses = {{"train.py(88): augment", false, 40 * MadeRun::kMs, 4, {}}};
  for (std::size_t step = 0; step < 6; ++step) {
    IdleByCause& blame = run.facts.idle.front().blame_by_step_ns[step];
    const bool pauses = step % 3 != 2;
    if (pauses) blame[static_cast<std::size_t>(HostLabel::kPython)] = 40 * MadeRun::kMs;
    if (!pauses) blame[static_cast<std::size_t>(HostLabel::kDataLoader)] = 25 * MadeRun::kMs;
  }
  EXPECT_EQ(find_host_pause(run.input())->saving->mid_ns, 15 * MadeRun::kMs);
  // A loader that waits in steps with a pause, too, is none that the pause hides.
  for (IdleByCause& blame : run.facts.idle.front().blame_by_step_ns) {
    blame[static_cast<std::size_t>(HostLabel::kDataLoader)] = 25 * MadeRun::kMs;
  }
  EXPECT_EQ(find_host_pause(run.input())->saving->mid_ns, 40 * MadeRun::kMs);
}

TEST(HostPause, read_from_the_gaps_without_a_re_simulation) {
  MadeRun run(100 * MadeRun::kMs);
  Gap gap;
  gap.at = {0, 30 * MadeRun::kMs};
  gap.blame = {{30 * MadeRun::kMs, HostLabel::kNoEvent, {}}};
  run.facts.idle.front().largest = {gap};
  run.refuse_what_ifs();
  const auto finding = find_host_pause(run.input());
  ASSERT_TRUE(finding);  // 30 ms in 4 steps of 100 ms: 7.5 %
  EXPECT_FALSE(finding->saving);
}

}  // namespace
}  // namespace stepscope
