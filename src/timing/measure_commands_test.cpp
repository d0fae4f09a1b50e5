// The plan is kept, shown with a runner that runs nothing.
#include "timing/measure_commands.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

namespace stepscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Each command takes as long as its second word says, in ns; `true` and `sh` take 1.
class FakeRunner final : public ProcessRunner {
 public:
  Result<ProcessRun> run(const ProcessCommand& command) override {
    const std::string& name = command.argv.front();
    names.push_back(name);
    if (static_cast<int>(names.size()) == interrupt_at) interrupt = SIGINT;
    if (name == "missing") return Error{ErrorCode::kNotFound, "no such program", ""};
    ProcessRun run;
    run.wall_ns = command.argv.size() == 2 ? std::stoll(command.argv[1]) : 1;
    run.exit_status = static_cast<int>(names.size()) == fail_at ? 9 : 0;
    return run;
  }
  [[nodiscard]] std::optional<int> interrupted_by() const override { return interrupt; }

  std::vector<std::string> names;
  int fail_at = -1;
  int interrupt_at = -1;
  std::optional<int> interrupt;
};

const ProcessCommand kA{{"A", "100000000"}, false};
const ProcessCommand kB{{"B", "300000000"}, false};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name;
  return text;
}

TEST(MeasureCommands, WarmUpIsNotCounted) {
  FakeRunner runner;
  const CommandTimes measured = measure_commands({kA}, {.warm_up_count = 2, .run_count = 3}, runner, nullptr);
  EXPECT_EQ(joined(runner.names), "AAAAA");
  ASSERT_EQ(measured.runs.size(), 1U);
  EXPECT_EQ(measured.runs[0].size(), 3U);
  EXPECT_FALSE(measured.failure || measured.interrupted_by);
}

TEST(MeasureCommands, TimeIsFilledButNeverWithFewerThanTenRuns) {
  FakeRunner runner;
  EXPECT_EQ(measure_commands({kA}, {.min_time_ns = 3 * kSecond}, runner, nullptr).runs[0].size(), 30U);
  EXPECT_EQ(measure_commands({kA}, {.min_time_ns = kSecond / 10}, runner, nullptr).runs[0].size(), 10U);
  EXPECT_EQ(measure_commands({kA}, {.min_time_ns = 0}, runner, nullptr).runs[0].size(), 10U);
}

TEST(MeasureCommands, TwoShareTheTimeAndRunEquallyOften) {
  FakeRunner runner;
  const CommandTimes measured = measure_commands({kA, kB}, {.min_time_ns = 4 * kSecond}, runner, nullptr);
  EXPECT_EQ(measured.runs[0].size(), 20U);  // 20 * (0.1 + 0.3) s are twice 4 s
  EXPECT_EQ(measured.runs[1].size(), 20U);
}

TEST(MeasureCommands, BlocksReadTheSameBackwardsAndBothOrdersComeUp) {
  FakeRunner runner;
  const CommandTimes measured = measure_commands({kA, kB}, {.warm_up_count = 0, .run_count = 40}, runner, nullptr);
  const std::string text = joined(runner.names);
  ASSERT_EQ(text.size(), 80U);
  std::set<std::string> blocks;
  for (std::size_t at = 0; at < text.size(); at += 4) blocks.insert(text.substr(at, 4));
  EXPECT_EQ(blocks, (std::set<std::string>{"ABBA", "BAAB"}));
  // Run k of A and run k of B are neighbours in time.
  for (std::size_t k = 0; k < 40; ++k) {
    EXPECT_EQ(measured.runs[0][k].order / 2, measured.runs[1][k].order / 2);
    EXPECT_EQ(measured.runs[0][k].order / 2, static_cast<std::int64_t>(k));
  }
}

TEST(MeasureCommands, TheSeedDecidesTheOrder) {
  const auto order = [](std::uint64_t seed) {
    FakeRunner runner;
    (void)measure_commands({kA, kB}, {.warm_up_count = 0, .run_count = 30, .seed = seed}, runner, nullptr);
    return joined(runner.names);
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(MeasureCommands, AnOddNumberOfRunsIsKept) {
  FakeRunner runner;
  const CommandTimes measured = measure_commands({kA, kB}, {.warm_up_count = 0, .run_count = 7}, runner, nullptr);
  EXPECT_EQ(measured.runs[0].size(), 7U);
  EXPECT_EQ(measured.runs[1].size(), 7U);
}

TEST(MeasureCommands, AFailureEndsIt) {
  FakeRunner runner;
  runner.fail_at = 4;
  const CommandTimes measured = measure_commands({kA}, {.warm_up_count = 1, .run_count = 10}, runner, nullptr);
  EXPECT_EQ(runner.names.size(), 4U);
  EXPECT_EQ(measured.runs[0].size(), 2U);
  ASSERT_TRUE(measured.failure);
  EXPECT_EQ(measured.failure->run->exit_status, 9);
  EXPECT_FALSE(measured.failure->in_warm_up);
}

TEST(MeasureCommands, AFailureInWarmUpEndsItToo) {
  FakeRunner runner;
  runner.fail_at = 2;
  const CommandTimes measured = measure_commands({kA, kB}, {.run_count = 10}, runner, nullptr);
  EXPECT_TRUE(measured.runs[0].empty());
  EXPECT_TRUE(measured.failure->in_warm_up);
  EXPECT_EQ(measured.failure->command, 1U);
}

TEST(MeasureCommands, AFailureMayBeIgnoredButNotAMissingProgram) {
  FakeRunner runner;
  runner.fail_at = 4;
  const MeasurePlan plan{.run_count = 10, .ignore_failure = true};
  const CommandTimes measured = measure_commands({kA}, plan, runner, nullptr);
  EXPECT_EQ(measured.runs[0].size(), 10U);
  EXPECT_FALSE(measured.failure);
  const CommandTimes missing = measure_commands({{{"missing"}, false}}, plan, runner, nullptr);
  EXPECT_EQ(missing.failure->error->code, ErrorCode::kNotFound);
}

TEST(MeasureCommands, AnInterruptKeepsWhatWasMeasuredBefore) {
  FakeRunner runner;
  runner.interrupt_at = 6;
  const CommandTimes measured = measure_commands({kA, kB}, {.warm_up_count = 0, .run_count = 10}, runner, nullptr);
  EXPECT_EQ(measured.interrupted_by, SIGINT);
  EXPECT_EQ(measured.runs[0].size() + measured.runs[1].size(), 5U);
  EXPECT_FALSE(measured.failure) << "the run was ended from outside";
}

TEST(MeasureCommands, ProgressCountsUp) {
  FakeRunner runner;
  std::vector<std::int64_t> done;
  const auto measured = measure_commands({kA, kB}, {.run_count = 3}, runner, [&](const MeasureProgress& progress) {
    done.push_back(progress.done_count);
    EXPECT_EQ(progress.all_count, 6);
    EXPECT_EQ(progress.in_warm_up, done.size() <= 2);
  });
  EXPECT_EQ(done, (std::vector<std::int64_t>{0, 0, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(measured.runs[1].size(), 3U);
}

TEST(MeasureCommands, NothingToMeasure) {
  FakeRunner runner;
  EXPECT_TRUE(measure_commands({}, {}, runner, nullptr).runs.empty());
  EXPECT_TRUE(measure_commands({kA}, {.warm_up_count = 0, .run_count = 0}, runner, nullptr).runs[0].empty());
}

TEST(MeasureEmptyCommand, IsTheMedianOrMissing) {
  FakeRunner runner;
  EXPECT_EQ(measure_empty_command(runner, false), 1);
  EXPECT_EQ(runner.names.front(), "true");
  runner.fail_at = static_cast<int>(runner.names.size()) + 3;
  EXPECT_FALSE(measure_empty_command(runner, true));
  EXPECT_EQ(runner.names.back(), "sh");
  runner.interrupt = SIGINT;
  EXPECT_FALSE(measure_empty_command(runner, false));
}

}  // namespace
}  // namespace stepscope
