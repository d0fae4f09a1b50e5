// The rules that also judge runs without a GPU, on pictures of the training thread.
#include "rules/host_only.h"

#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "rules/rules.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

struct HostRun {
  explicit HostRun(std::string_view picture, std::int64_t ns_per_column = 1'000'000)
      : trace(trace_from_text(picture, {ns_per_column})), facts(compute_facts(trace, {})) {}
  [[nodiscard]] RuleInput input() const { return {trace, facts}; }
  Trace trace;
  Facts facts;
};

// 12 of 30 ms in each step.
constexpr std::string_view kSlowLoader = R"(
    step      [1                           ][2                           ]
    span       [load batch ] [forward      ] [load batch ] [forward      ]
    op          [r1]  [r2]    [mm=========]   [r1]  [r2]    [mm=========]
)";

TEST(HostOnly, AFaultIsTheLoadersShareOfTheStep) {
  const HostRun run(kSlowLoader);
  ASSERT_TRUE(run.facts.ledger.is_host_only);
  const auto finding = find_data_loader_stall(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_EQ(finding->title, "load batch takes 13.0 ms on the training thread, once a step");
  EXPECT_EQ(finding->saving->mid_ns, 13'000'000);
  EXPECT_TRUE(finding->saving_as_recorded);
  EXPECT_DOUBLE_EQ(*finding->saving_ratio, 13.0 / 30);
  EXPECT_EQ(finding->gain,
            "With the data made elsewhere, on a free core, the step would take about 17.0 ms instead of 30.0 ms, 1.8 "
            "times faster.");
  const auto all = find_all(run.input());
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().id, "data-loader-stall");
  const std::string verdict = write_verdict(run.input(), all);
  EXPECT_TRUE(verdict.starts_with("The training thread spends 43 % of every step on making data. No GPU was recorded."))
      << verdict;
}

TEST(HostOnly, AQuickLoaderIsNone) {
  const HostRun run(R"(
    step      [1                           ][2                           ]
    span       [d][forward                 ] [e][forward                 ]
    op          [mm=======================]   [mm=======================]
    where
      d = load_batch @ 1000000..2000000
      e = load_batch @ 31000000..32000000
  )");
  EXPECT_FALSE(find_data_loader_stall(run.input()));
}

TEST(HostOnly, WithAGpuItsIdleTimeIsTheMeasure) {
  const HostRun run(std::string(kSlowLoader) + R"(
    call      [L]
    gpu/7     [K====]
    where
      L = cudaLaunchKernel corr 1
      K = a corr 1
  )");
  EXPECT_FALSE(run.facts.ledger.is_host_only);
  EXPECT_TRUE(host_only_slices(run.input()).empty());
}

TEST(HostOnly, APauseIsAStretchInWhichNoOperatorRuns) {
  const HostRun run(R"(
    step      [1                           ][2                           ]
    op         [mm=====]          [add====]  [mm=====]          [add====]
    py                  [log ][fm]                    [log ][fm]
    where
      log = train.py(52): log
      fm = train.py(60): format
  )");
  const auto finding = find_host_pause(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title, "train.py(52): log holds the training thread for 6.00 ms a step and runs no operator");
  EXPECT_EQ(finding->evidence.at(0).at->length_ns(), 6'000'000);
  EXPECT_EQ(finding->saving->mid_ns, 10'000'000);  // with what `format` has of the stretch
  EXPECT_TRUE(finding->saving_as_recorded);
  EXPECT_FALSE(find_garbage_collection(run.input()));
}

// 10 ms in every step, and once 60.
constexpr std::string_view kOneLongPause = R"(
    step      [1       ][2                                     ][3       ]
    op        [mm ]     [mm ]                                   [mm ]
    py             [ev ]     [ev ][once                        ]     [ev ]
    where
      ev = train.py(5): every_step
      once = train.py(7): once
)";

// 12 of 30 ms in each step, until the collective ends; 12 ms in which nothing ends are a pause.
TEST(HostOnly, AWaitForAnotherRankIsNoPause) {
  constexpr std::string_view kPicture = R"(
    step      [1                           ][2                           ]
    op         [mm======]            [sgd==] [mm======]            [sgd==]
    span@gloo            [R=========]                  [S=========]
    where
      R = gloo:all_reduce
      S = gloo:all_reduce
  )";
  const HostRun waits(kPicture);
  ASSERT_TRUE(waits.facts.ledger.is_host_only);
  EXPECT_FALSE(find_host_pause(waits.input()));
  const auto finding = find_exposed_communication(waits.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title,
            "The training thread waits 12.0 ms a step (40 %) for collectives of gloo and does nothing else meanwhile");
  EXPECT_TRUE(finding->saving_as_recorded);
  std::string other(kPicture);
  for (std::size_t at = 0; (at = other.find("gloo:all_reduce", at)) != std::string::npos;) other[at] = 'x';
  const HostRun pauses(other);
  EXPECT_TRUE(find_host_pause(pauses.input()));
  EXPECT_FALSE(find_exposed_communication(pauses.input()));
}

TEST(HostOnly, APauseOfOneStepIsNotTheTypicalSteps) {
  const HostRun run(kOneLongPause, 2'000'000);
  const auto finding = find_host_pause(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title,
            "train.py(5): every_step holds the training thread for 10.0 ms a step and runs no operator");
  EXPECT_NE(finding->evidence.at(1).text.find("once: 1 stretch of at least 5 ms, in fewer than half of the steps."),
            std::string::npos)
      << finding->evidence.at(1).text;
}

TEST(HostOnly, ShortStretchesBetweenOperatorsAreNoPause) {
  const HostRun run(R"(
    step      [1                           ][2                           ]
    op         [mm=]   [mm]   [mm]   [add==]  [mm=]   [mm]   [mm]   [add=]
  )");
  EXPECT_FALSE(find_host_pause(run.input()));
}

}  // namespace
}  // namespace stepscope
