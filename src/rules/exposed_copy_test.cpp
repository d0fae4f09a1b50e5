// exposed-copy: a note, a fault, and what blocking-copy has named already.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_exposed(double share) {
  MadeRun run;
  DeviceBusy& busy = run.facts.busy.front();
  busy.exposed_copy_ns = static_cast<DurationNs>(share * static_cast<double>(busy.window_ns));
  const GpuEventId event =
      run.gpu_event(KernelClass::kCopy, "Memcpy DtoH (Device -> Pinned)", 1000, MadeRun::kMs, GpuEventKind::kCopy);
  run.trace.gpu_events.bytes[event] = 40'000'000;
  run.set_saving(Transform::kCopiesOverlapped, share);
  return run;
}

TEST(ExposedCopy, a_note_at_five_percent_and_a_fault_at_twenty) {
  MadeRun silent = run_with_exposed(0.045);
  EXPECT_FALSE(find_exposed_copy(silent.input()));
  MadeRun note = run_with_exposed(0.055);
  ASSERT_TRUE(find_exposed_copy(note.input()));
  EXPECT_EQ(find_exposed_copy(note.input())->severity, Severity::kNote);
  MadeRun high_note = run_with_exposed(0.19);
  EXPECT_EQ(find_exposed_copy(high_note.input())->severity, Severity::kNote);
  MadeRun fault = run_with_exposed(0.21);
  EXPECT_EQ(find_exposed_copy(fault.input())->severity, Severity::kFault);
  EXPECT_EQ(find_exposed_copy(fault.input())->evidence[0].text,
            "Memcpy DtoH (Device -> Pinned): 10.0 MB in 0.25 ms a step.");
}

TEST(ExposedCopy, silent_when_the_median_step_gains_nothing) {
  MadeRun run = run_with_exposed(0.3);
  run.set_saving(Transform::kCopiesOverlapped, 0.01);  // one checkpoint copies, the other steps do not
  EXPECT_FALSE(find_exposed_copy(run.input()));
}

TEST(ExposedCopy, copies_that_blocking_copy_names_are_taken_off) {
  MadeRun run;
  for (const Step& step : run.facts.steps.steps) {
    run.gpu_event(KernelClass::kCopy, "Memcpy HtoD (Pageable -> Device)", step.gpu.start_ns, 4 * MadeRun::kMs,
                  GpuEventKind::kCopy);
  }
  run.facts.busy.front().exposed_copy_ns = 16 * MadeRun::kMs;
  run.set_saving(Transform::kCopiesOverlapped, 0.4);
  EXPECT_TRUE(find_exposed_copy(run.input()));
  Finding named;
  named.id = "blocking-copy";
  const std::vector<Finding> found = {named};
  EXPECT_FALSE(find_exposed_copy(run.input(found)));
}

}  // namespace
}  // namespace stepscope
