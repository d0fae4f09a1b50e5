#include "stepscope/profile_steps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <stdexcept>

#include "stepscope/span.h"

namespace stepscope {
namespace {

std::string folder() { return testing::TempDir() + "profile_steps_" + std::to_string(getpid()); }

TEST(ProfileSteps, RunsTheStepsOfTheScheduleAndNamesTheFiles) {
  std::vector<std::int64_t> seen;
  const auto profiled = profile_steps(
      [&](std::int64_t step) {
        const Span span("work");
        seen.push_back(step);
      },
      {.directory = folder()});
  ASSERT_TRUE(profiled);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(profiled->step_count, 6);
  EXPECT_EQ(profiled->trace_count, 1);
  EXPECT_TRUE(profiled->warnings.empty());
  ASSERT_EQ(profiled->trace_files.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(profiled->trace_files[0]));
  std::filesystem::remove_all(folder());
}

TEST(ProfileSteps, CountsTheStepsOfEverySchedule) {
  const auto steps_of = [](ScheduleParameters schedule) {
    const auto profiled = profile_steps(
        [](std::int64_t) {}, {.schedule = schedule, .session = {.on_trace_ready = [](const RecordedTrace&) {}}});
    EXPECT_TRUE(profiled);
    return std::pair(profiled->step_count, profiled->trace_count);
  };
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(steps_of({.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 2}), Counts(10, 2));
  EXPECT_EQ(steps_of({.skip_first = 2, .wait = 3, .warmup = 1, .active = 2, .repeat = 1, .skip_first_wait = true}),
            Counts(5, 1));
  EXPECT_EQ(steps_of({.warmup = 1, .active = 1, .repeat = 3}), Counts(6, 3));
}

TEST(ProfileSteps, RunsAsManyStepsAsAsked) {
  int count = 0;
  const auto profiled =
      profile_steps([&](std::int64_t) { ++count; }, {.schedule = {.warmup = 1, .active = 2},
                                                     .step_count = 6,
                                                     .session = {.on_trace_ready = [](const RecordedTrace&) {}}});
  ASSERT_TRUE(profiled);
  EXPECT_EQ(count, 6);
  EXPECT_EQ(profiled->trace_count, 2);
}

TEST(ProfileSteps, RefusesWhatHasNoEnd) {
  int count = 0;
  const auto run = [&](ProfileStepsOptions options) { return profile_steps([&](std::int64_t) { ++count; }, options); };
  EXPECT_FALSE(run({.schedule = {.active = 1, .repeat = 0}}));
  EXPECT_FALSE(run({.schedule = {.active = 0, .repeat = 1}}));
  EXPECT_FALSE(run({.step_count = -1}));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(run({.schedule = {.active = kMost, .repeat = 2}}));
  EXPECT_FALSE(run({.schedule = {.skip_first = kMost, .active = 1, .repeat = 1}}));
  EXPECT_EQ(count, 0);
}

TEST(ProfileSteps, RefusesAStepThatIsNone) {
  const auto profiled = profile_steps(nullptr);
  ASSERT_FALSE(profiled);
  EXPECT_EQ(profiled.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(profiled.error().message, "step_fn is empty: there is no step to run");
}

TEST(ProfileSteps, SaysWhatCouldNotBeWritten) {
  int count = 0;
  const auto profiled = profile_steps([&](std::int64_t) { ++count; }, {.directory = "/proc/nowhere"});
  ASSERT_FALSE(profiled);
  EXPECT_EQ(profiled.error().file, "/proc/nowhere");
  EXPECT_EQ(count, 6);
}

TEST(ProfileSteps, LetsExceptionsOfTheStepThrough) {
  std::uint64_t spans = 0;
  EXPECT_THROW(
      {
        const auto profiled = profile_steps(
            [](std::int64_t step) {
              const Span span("work");
              if (step == 4) throw std::runtime_error("diverged");
            },
            {.session = {.on_trace_ready = [&](const RecordedTrace& trace) { spans = trace.counts().spans; }}});
      },
      std::runtime_error);
  EXPECT_EQ(spans, 3U);  // `work` of steps 3 and 4, and the marker of step 3
  ProfilingSession next({});
  EXPECT_TRUE(next.start());
}

}  // namespace
}  // namespace stepscope
