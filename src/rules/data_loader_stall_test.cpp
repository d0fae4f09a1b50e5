// data-loader-stall on either side of its thresholds, with and without a re-simulation.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

constexpr std::string_view kLoader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

MadeRun run_with_loader(double ratio) {
  MadeRun run;
  run.set_saving(Transform::kLoaderReady, ratio);
  run.blame(HostLabel::kDataLoader, static_cast<DurationNs>(ratio * 10e6), kLoader);
  run.span(kLoader, 1000, 2 * MadeRun::kMs);
  return run;
}

TEST(DataLoaderStall, silent_below_five_percent) {
  MadeRun run = run_with_loader(0.045);
  EXPECT_FALSE(find_data_loader_stall(run.input()));
}

TEST(DataLoaderStall, a_note_from_five_percent_on) {
  MadeRun run = run_with_loader(0.055);
  const auto finding = find_data_loader_stall(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kNote);
}

TEST(DataLoaderStall, a_fault_from_ten_percent_on) {
  MadeRun run = run_with_loader(0.5);
  const auto finding = find_data_loader_stall(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_EQ(finding->saving->mid_ns, 5 * MadeRun::kMs);
  EXPECT_DOUBLE_EQ(*finding->saving_ratio, 0.5);
  EXPECT_NE(finding->title.find("_SingleProcessDataLoaderIter.__next__ takes 2.00 ms on the training thread"),
            std::string::npos)
      << finding->title;
  EXPECT_NE(finding->advice.front().find("num_workers=4"), std::string::npos);
  EXPECT_EQ(finding->gain,
            "With the data ready in time the step would take about 5.00 ms instead of 10.0 ms, 2.0 times faster.");
}

// Without the wait of one step the median is another step's: 4.8 ms less, where a typical step waits for 1 ms.
TEST(DataLoaderStall, saves_no_more_than_the_loader_costs_in_the_typical_step) {
  MadeRun run = run_with_loader(0.1);
  run.set_saving(Transform::kLoaderReady, 0.48);
  run.facts.idle.front().blame_by_step_ns[1][static_cast<std::size_t>(HostLabel::kDataLoader)] += 100 * MadeRun::kMs;
  const auto finding = find_data_loader_stall(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->saving->mid_ns, MadeRun::kMs);
  EXPECT_LE(finding->saving->high_ns, MadeRun::kMs);
}

// The saving's ends are of other hosts than the middle: taken from the middle before, they would give 3 to 9 ms.
TEST(DataLoaderStall, a_vague_saving_gives_the_range_that_the_replay_has_for_the_step) {
  MadeRun run = run_with_loader(0.5);
  WhatIf& ready = run.facts.what_ifs.results[static_cast<std::size_t>(Transform::kLoaderReady)];
  ready.saving = {1'000'000, 5'000'000, 7'000'000};
  ready.step_unprofiled = {4'800'000, 5'000'000, 5'200'000};
  EXPECT_EQ(find_data_loader_stall(run.input())->gain,
            "With the data ready in time the step would take about 5.00 ms (4.80 ms to 5.20 ms) instead of 10.0 ms, "
            "2.0 times faster.");
}

TEST(DataLoaderStall, without_a_re_simulation_idle_time_decides_and_no_saving_is_claimed) {
  MadeRun run = run_with_loader(0.3);
  run.refuse_what_ifs();
  const auto finding = find_data_loader_stall(run.input());
  ASSERT_TRUE(finding);
  EXPECT_FALSE(finding->saving);
  EXPECT_FALSE(finding->saving_ratio);
  EXPECT_EQ(finding->gain, "");
  EXPECT_EQ(finding->evidence.back().text, "No saving is predicted: the replay is 3 % off the recording.");
}

TEST(DataLoaderStall, advice_fits_the_loader) {
  MadeRun run;
  run.set_saving(Transform::kLoaderReady, 0.5);
  run.blame(HostLabel::kDataLoader, 5 * MadeRun::kMs, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  EXPECT_NE(find_data_loader_stall(run.input())->advice.front().find("more workers"), std::string::npos);

  MadeRun own;
  own.set_saving(Transform::kLoaderReady, 0.5);
  own.blame(HostLabel::kDataLoader, 5 * MadeRun::kMs, "get_batch");
  EXPECT_NE(find_data_loader_stall(own.input())->advice.front().find("next batch in another process"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
