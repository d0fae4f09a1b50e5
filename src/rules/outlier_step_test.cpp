// outlier-step: which step, since when, and why.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

std::vector<DurationNs> steps_of(std::initializer_list<double> lengths_ms) {
  std::vector<DurationNs> out;
  for (const double ms : lengths_ms) out.push_back(static_cast<DurationNs>(ms * 1e6));
  return out;
}

TEST(OutlierStep, from_one_and_a_half_times_the_others) {
  MadeRun steady(steps_of({10, 10, 14.9, 10}));
  EXPECT_FALSE(find_outlier_step(steady.input()));
  MadeRun outlier(steps_of({10, 10, 15.1, 10}));
  const auto finding = find_outlier_step(outlier.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_NE(finding->title.find("Step 6 takes 15.1 ms, the others 10.0 ms"), std::string::npos) << finding->title;
}

// Steps of 10 ms, those with an optimizer 20.
MadeRun accumulating(std::initializer_list<bool> has_optimizer) {
  std::vector<DurationNs> lengths;
  for (const bool has : has_optimizer) lengths.push_back((has ? 20 : 10) * MadeRun::kMs);
  MadeRun run(lengths);
  for (const Step& step : run.facts.steps.steps) {
    if (step.duration_ns() > 10 * MadeRun::kMs)
      run.span("Optimizer.step#AdamW.step", step.host.start_ns + MadeRun::kMs, MadeRun::kMs);
  }
  return run;
}

TEST(OutlierStep, an_optimizer_in_every_nth_step_is_no_fault) {
  MadeRun meant = accumulating({false, false, true, false, false, true, false});
  const auto finding = find_outlier_step(meant.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kInformation);
  EXPECT_TRUE(finding->title.ends_with("the optimizer runs in every 3rd step (gradient accumulation)"))
      << finding->title;
  EXPECT_FALSE(finding->saving);
  EXPECT_TRUE(finding->gain.empty());
  MadeRun irregular = accumulating({false, false, true, false, false, false, true, true, false, false});
  EXPECT_EQ(find_outlier_step(irregular.input())->severity, Severity::kFault);
  MadeRun another({10 * MadeRun::kMs, 10 * MadeRun::kMs, 20 * MadeRun::kMs, 30 * MadeRun::kMs, 10 * MadeRun::kMs,
                   20 * MadeRun::kMs, 10 * MadeRun::kMs, 10 * MadeRun::kMs, 10 * MadeRun::kMs});
  another.span("Optimizer.step#AdamW.step", 21 * MadeRun::kMs, MadeRun::kMs);
  another.span("Optimizer.step#AdamW.step", 81 * MadeRun::kMs, MadeRun::kMs);
  EXPECT_EQ(find_outlier_step(another.input())->severity, Severity::kFault) << "one outlier has none";
}

TEST(OutlierStep, of_several_all_are_counted_and_the_longest_named) {
  MadeRun run(steps_of({10, 10, 10, 30, 10, 10, 50, 10, 10, 10}));
  const auto finding = find_outlier_step(run.input());
  ASSERT_TRUE(finding);
  EXPECT_TRUE(
      finding->title.starts_with("2 of 10 steps take 30.0 to 50.0 ms, the others 10.0 ms; step 10 takes longest: "))
      << finding->title;
  EXPECT_TRUE(finding->evidence[0].text.starts_with("Of step 10's extra 40.0 ms, ")) << finding->evidence[0].text;
  EXPECT_NE(finding->evidence[1].text.find("#10 50.0 ms, #7 30.0 ms."), std::string::npos) << finding->evidence[1].text;
  // 20 and 40 ms of ten steps; the cause was looked for in the longest alone.
  EXPECT_EQ(finding->saving->mid_ns, 6 * MadeRun::kMs);
  EXPECT_LE(finding->saving->low_ns, 4 * MadeRun::kMs);
  EXPECT_EQ(finding->gain,
            "Without what they take more, the recorded steps would take 10.0 ms on average instead of 16.0 ms.");
}

TEST(OutlierStep, what_the_others_take_is_one_number_only_if_it_is_true_of_them) {
  MadeRun scattered(steps_of({10, 9, 12, 40, 11}));
  EXPECT_NE(find_outlier_step(scattered.input())->title.find("40.0 ms, the others 10.5 ms (9.00 to 12.0): "),
            std::string::npos)
      << find_outlier_step(scattered.input())->title;
  MadeRun far(steps_of({10, 9, 12, 400, 11}));
  EXPECT_NE(find_outlier_step(far.input())->title.find("400 ms, the others about 10.5 ms: "), std::string::npos)
      << find_outlier_step(far.input())->title;
  MadeRun distorted(steps_of({100, 10, 10, 40, 10}));
  EXPECT_NE(find_outlier_step(distorted.input())->title.find("40.0 ms, the others after the first 10.0 ms: "),
            std::string::npos)
      << find_outlier_step(distorted.input())->title;
}

TEST(OutlierStep, among_scattered_steps_it_is_a_note) {
  const auto severity = [](std::initializer_list<double> lengths_ms) {
    MadeRun run(steps_of(lengths_ms));
    const auto finding = find_outlier_step(run.input());
    EXPECT_TRUE(finding);
    return finding ? finding->severity : Severity::kInformation;
  };
  // Three steps: only others that are as good as alike leave no doubt (0.941 of the range).
  EXPECT_EQ(severity({2.47, 4.57, 6.30}), Severity::kNote);
  EXPECT_EQ(severity({18.8, 33.5, 10.9}), Severity::kNote);
  EXPECT_EQ(severity({10.0, 20.0, 10.7}), Severity::kNote);   // 9.3 of 10
  EXPECT_EQ(severity({10.0, 20.0, 10.5}), Severity::kFault);  // 9.5 of 10
  // Six: 0.560.
  EXPECT_EQ(severity({10, 12, 14.5, 11, 20, 13}), Severity::kNote);
  EXPECT_EQ(severity({10, 12, 14.3, 11, 20, 13}), Severity::kFault);
  // Lengths of one spread, of which the upper ones are half as long again: no two kinds of steps.
  EXPECT_EQ(severity({10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 10, 11, 10, 12, 11, 10}), Severity::kNote);
  EXPECT_EQ(severity({10, 11, 12, 13, 10, 11, 12, 30, 10, 31, 13, 12, 11, 10}), Severity::kFault);
}

TEST(OutlierStep, a_note_of_scatter_says_so) {
  MadeRun run(steps_of({2.47, 4.57, 6.30}));
  const auto finding = find_outlier_step(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(
      finding->evidence.back().text,
      "It may be chance: the other 2 steps take 2.47 to 4.57 ms, which is too few or too scattered to say what is "
      "usual. More recorded steps tell.");
}

TEST(OutlierStep, the_first_recorded_step_is_never_one) {
  MadeRun run(steps_of({100, 10, 10, 10}));
  EXPECT_FALSE(find_outlier_step(run.input()));
}

TEST(OutlierStep, but_a_checkpoint_in_it_is_the_programs_own) {
  MadeRun run(steps_of({100, 10, 10, 10}));
  DurationNs& checkpoint = run.facts.idle.front().blame_by_step_ns[0][static_cast<std::size_t>(HostLabel::kCheckpoint)];
  checkpoint = 44 * MadeRun::kMs;  // of 90 extra
  EXPECT_FALSE(find_outlier_step(run.input()));
  checkpoint = 46 * MadeRun::kMs;
  run.facts.busy.front().busy_by_step_ns = steps_of({10, 10, 10, 10});
  const auto finding = find_outlier_step(run.input());
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("Step 4 takes 100 ms"), std::string::npos) << finding->title;
  EXPECT_NE(finding->title.find("a checkpoint is written"), std::string::npos) << finding->title;
}

TEST(OutlierStep, two_steps_are_too_few) {
  MadeRun run(steps_of({10, 100}));
  EXPECT_FALSE(find_outlier_step(run.input()));
}

TEST(OutlierStep, a_rare_one_is_a_note) {
  std::vector<DurationNs> lengths(100, 10 * MadeRun::kMs);
  lengths[50] = 50 * MadeRun::kMs;  // 40 of 1,040 ms: 3.8 %
  MadeRun note(lengths);
  ASSERT_TRUE(find_outlier_step(note.input()));
  EXPECT_EQ(find_outlier_step(note.input())->severity, Severity::kNote);
  lengths[50] = 70 * MadeRun::kMs;  // 60 of 1,060 ms: 5.7 %
  MadeRun fault(lengths);
  EXPECT_EQ(find_outlier_step(fault.input())->severity, Severity::kFault);
}

TEST(OutlierStep, names_the_part_that_grew) {
  MadeRun run(steps_of({10, 10, 40, 10}));
  run.facts.busy.front().busy_by_step_ns = steps_of({8, 8, 9, 8});
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kCheckpoint)] = 29 * MadeRun::kMs;
  EXPECT_NE(find_outlier_step(run.input())->title.find("a checkpoint is written"), std::string::npos);

  MadeRun larger(steps_of({10, 10, 40, 10}));
  EXPECT_NE(find_outlier_step(larger.input())->title.find("the GPU itself works longer"), std::string::npos);
}

TEST(OutlierStep, says_what_the_rest_is_and_gives_a_range) {
  MadeRun run(steps_of({10, 10, 40, 10}));
  run.facts.busy.front().busy_by_step_ns = steps_of({8, 8, 13, 8});
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kCheckpoint)] = 15 * MadeRun::kMs;
  const auto finding = find_outlier_step(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(
      finding->evidence[0].text,
      "Of its extra 30.0 ms, 15.0 ms are this cause; the GPU is busy for 5.00 ms longer, copies to the host among "
      "it; 10.0 ms are not explained.");
  EXPECT_TRUE(finding->saving_as_recorded);
  EXPECT_EQ(finding->saving->low_ns, 3'750'000);  // a fourth of 15 ms
  EXPECT_EQ(finding->saving->mid_ns, 7'500'000);
}

TEST(OutlierStep, explained_by_another_finding_it_is_a_note) {
  MadeRun run(steps_of({10, 10, 40, 10}));
  run.facts.busy.front().busy_by_step_ns = steps_of({8, 8, 8, 8});
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kDataLoader)] = 30 * MadeRun::kMs;
  EXPECT_EQ(find_outlier_step(run.input())->severity, Severity::kFault);
  Finding stall;
  stall.id = "data-loader-stall";
  const std::vector<Finding> found = {stall};
  EXPECT_EQ(find_outlier_step(run.input(found))->severity, Severity::kNote);
}

// 400 ms in one of six steps are not explained by a loader that costs a millisecond in each.
TEST(OutlierStep, a_finding_that_saves_little_does_not_explain_it) {
  MadeRun run(steps_of({50, 50, 450, 50, 50, 50}));
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kDataLoader)] = 400 * MadeRun::kMs;
  Finding stall;
  stall.id = "data-loader-stall";
  stall.saving = Estimate{MadeRun::kMs, MadeRun::kMs, MadeRun::kMs};
  const auto finding = find_outlier_step(run.input(std::vector<Finding>{stall}));
  EXPECT_EQ(finding->severity, Severity::kFault);
  for (const Evidence& each : finding->evidence) EXPECT_EQ(each.text.find("It is part of"), std::string::npos);
  stall.saving = Estimate{60 * MadeRun::kMs, 60 * MadeRun::kMs, 60 * MadeRun::kMs};
  EXPECT_EQ(find_outlier_step(run.input(std::vector<Finding>{stall}))->severity, Severity::kNote);
}

TEST(OutlierStep, a_compilation_in_the_step_is_the_cause) {
  MadeRun run(steps_of({10, 10, 40, 10}));
  run.span("_compile.compile_inner (dynamo_timed)", 21 * MadeRun::kMs, 28 * MadeRun::kMs);
  EXPECT_NE(find_outlier_step(run.input())->title.find("code is compiled"), std::string::npos);
}

std::optional<Finding> found_on_host(std::string_view picture) {
  const Trace trace = trace_from_text(picture, {1'000'000});
  const Facts facts = compute_facts(trace, {});
  EXPECT_TRUE(facts.ledger.is_host_only);
  return find_outlier_step({trace, facts});
}

TEST(OutlierStep, without_a_gpu_the_span_that_grew_is_named) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    span       [forward]  [forward]  [forward][evaluate 3     ]   [forward]  [forward]
    span                                       [inner         ]
    op         [mm]       [mm]       [mm]      [mm] [mm] [mm]     [mm]       [mm]
  )");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title, "Step 3 takes 29.0 ms, the others 11.0 ms: span `inner` takes 16.0 ms more");
  EXPECT_TRUE(finding->evidence.front().text.starts_with("Of its extra 18.0 ms, 16.0 ms are this cause"))
      << finding->evidence.front().text;
  ASSERT_TRUE(finding->evidence.front().at);
  EXPECT_EQ(finding->evidence.front().at->length_ns(), 16'000'000);
}

TEST(OutlierStep, without_a_gpu_a_checkpoint_keeps_its_advice) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    span       [forward]  [forward]  [forward][checkpoint     ]   [forward]  [forward]
    op         [mm]       [mm]       [mm]      [mm] [mm] [mm]     [mm]       [mm]
  )");
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("a checkpoint is written (`checkpoint`)"), std::string::npos) << finding->title;
}

TEST(OutlierStep, without_a_gpu_and_without_spans_the_operator_is_named) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    op         [mm]       [mm]       [mm]  [sort            ]     [mm]       [mm]
  )");
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("operator `sort` takes 18.0 ms more"), std::string::npos) << finding->title;
}

}  // namespace
}  // namespace stepscope
