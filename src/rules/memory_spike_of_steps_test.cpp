// memory-spike over the steps of a trace: one rare, high step.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::optional<Finding> find(std::vector<std::optional<std::int64_t>> peaks) {
  MadeRun run(std::vector<DurationNs>(peaks.size(), 10 * MadeRun::kMs));
  DeviceMemoryLevels memory;
  memory.allocated_peak_by_step_bytes = std::move(peaks);
  run.facts.memory.devices.push_back(memory);
  return find_memory_spike_of_steps(run.input());
}

TEST(MemorySpikeOfSteps, one_high_step_of_four) {
  const auto finding = find({2 * kGiB, 2 * kGiB, 5 * kGiB, 2 * kGiB});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "memory-spike");
  EXPECT_EQ(finding->severity, Severity::kNote);
  EXPECT_EQ(finding->title, "Step 6 needs 5.00 GiB of GPU memory, an ordinary step 2.00 GiB");
  EXPECT_EQ(finding->evidence[0].text, "Without such steps the others need at most 2.00 GiB.");
}

TEST(MemorySpikeOfSteps, a_quarter_more_is_the_least) {
  EXPECT_TRUE(find({4 * kGiB, 4 * kGiB, 4 * kGiB, 5 * kGiB}));
  EXPECT_FALSE(find({4 * kGiB, 4 * kGiB, 4 * kGiB, 5 * kGiB - 1}));
}

TEST(MemorySpikeOfSteps, many_high_steps_are_how_the_loop_is) {
  EXPECT_FALSE(find({2 * kGiB, 5 * kGiB, 2 * kGiB, 5 * kGiB, 2 * kGiB}));
}

TEST(MemorySpikeOfSteps, silent_where_too_little_is_known) {
  EXPECT_FALSE(find({2 * kGiB, 5 * kGiB, 2 * kGiB}));
  EXPECT_FALSE(find({2 * kGiB, std::nullopt, 5 * kGiB, std::nullopt, 2 * kGiB}));
  EXPECT_FALSE(find({0, 0, 0, 0, 5 * kGiB}));
}

}  // namespace
}  // namespace stepscope
