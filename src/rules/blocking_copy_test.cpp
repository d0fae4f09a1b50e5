// blocking-copy: pageable copies a step, and when they are no more than a note.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_copies(std::size_t steps_with, std::string_view name, double saving) {
  MadeRun run;
  for (std::size_t step = 0; step < steps_with; ++step) {
    const TimeNs start = run.facts.steps.steps[step].gpu.start_ns + 1000;
    const GpuEventId event = run.gpu_event(KernelClass::kCopy, name, start, 2 * MadeRun::kMs, GpuEventKind::kCopy);
    run.trace.gpu_events.bytes[event] = 16'000'000;
  }
  run.set_saving(Transform::kBlockingCopiesAsync, saving);
  return run;
}

constexpr std::string_view kPageable = "Memcpy HtoD (Pageable -> Device)";

TEST(BlockingCopy, one_a_step_is_a_fault_from_one_percent_on) {
  MadeRun cheap = run_with_copies(4, kPageable, 0.008);
  ASSERT_TRUE(find_blocking_copy(cheap.input()));
  EXPECT_EQ(find_blocking_copy(cheap.input())->severity, Severity::kNote);
  MadeRun dear = run_with_copies(4, kPageable, 0.012);
  EXPECT_EQ(find_blocking_copy(dear.input())->severity, Severity::kFault);
}

TEST(BlockingCopy, fewer_than_one_a_step_are_silent) {
  MadeRun run = run_with_copies(3, kPageable, 0.2);
  EXPECT_FALSE(find_blocking_copy(run.input()));
}

TEST(BlockingCopy, pinned_copies_are_silent) {
  MadeRun run = run_with_copies(4, "Memcpy HtoD (Pinned -> Device)", 0.2);
  EXPECT_FALSE(find_blocking_copy(run.input()));
}

TEST(BlockingCopy, says_how_fast_and_what_a_pinned_copy_reaches) {
  MadeRun run = run_with_copies(4, kPageable, 0.2);
  const GpuEventId pinned = run.gpu_event(KernelClass::kCopy, "Memcpy HtoD (Pinned -> Device)", 39 * MadeRun::kMs,
                                          100'000, GpuEventKind::kCopy);
  run.trace.gpu_events.bytes[pinned] = 5'000'000;
  const auto finding = find_blocking_copy(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].text,
            "The copies move 16.0 MB a step in 2.00 ms (8.00 GB/s; pinned copies here: 50.0 GB/s).");
  EXPECT_EQ(finding->evidence[1].text, "No kernel runs under 2.00 ms of it a step.");
}

}  // namespace
}  // namespace stepscope
