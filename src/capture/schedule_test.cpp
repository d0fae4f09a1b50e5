// The schedule against the definition's two sequences, against a reading of the rules that walks from step to step and
// never divides, and against wide arithmetic where counts are huge; the whole transition table.
#include "stepscope/schedule.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace stepscope {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string actions_of(const Schedule& schedule, std::int64_t count) {
  std::string text;
  for (std::int64_t step = 0; step < count; ++step) text += "nwrs"[static_cast<int>(schedule.action(step))];
  return text;
}

// Walks as the words say: the skipped steps, then cycle after cycle, each phase counted down; the first cycle without
// its wait when asked; after `repeat` cycles nothing.
class Walker {
 public:
  explicit Walker(const ScheduleParameters& parameters) : p_(parameters), skip_left_(p_.skip_first) {
    begin_cycle();
    if (p_.skip_first_wait) wait_left_ = 0;
  }
  char next() {
    if (skip_left_ > 0) {
      --skip_left_;
      return 'n';
    }
    if (p_.repeat > 0 && finished_ == p_.repeat) return 'n';
    if (wait_left_ > 0) {
      --wait_left_;
      return 'n';
    }
    if (warmup_left_ > 0) {
      --warmup_left_;
      return 'w';
    }
    if (--active_left_ > 0) return 'r';
    ++finished_;
    begin_cycle();
    return 's';
  }

 private:
  void begin_cycle() {
    wait_left_ = p_.wait;
    warmup_left_ = p_.warmup;
    active_left_ = p_.active;
  }
  ScheduleParameters p_;
  std::int64_t skip_left_, finished_ = 0, wait_left_ = 0, warmup_left_ = 0, active_left_ = 0;
};

TEST(Schedule, SequencesOfTheDefinition) {
  EXPECT_EQ(actions_of(*make_schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 1}), 6), "nwrsnn");
  EXPECT_EQ(actions_of(*make_schedule({.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 2}), 12),
            "nnnwrsnwrsnn");
}

TEST(Schedule, WithoutParametersEveryStepIsRecorded) {
  const Schedule schedule;
  EXPECT_TRUE(schedule.records_always());
  EXPECT_EQ(actions_of(schedule, 5), "rrrrr");
  EXPECT_EQ(schedule.action(kMost), ProfilerAction::kRecord);
  EXPECT_EQ(schedule.to_string(), "always");
  EXPECT_TRUE(schedule.warnings().empty());
}

TEST(Schedule, TheFirstWaitCanBeSkipped) {
  EXPECT_EQ(
      actions_of(*make_schedule({.skip_first = 1, .wait = 3, .warmup = 1, .active = 1, .skip_first_wait = true}), 10),
      "nwsnnnwsnn");
}

TEST(Schedule, AgreesWithAWalk) {
  std::mt19937 random(17);
  const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int i = 0; i < 20000; ++i) {
    const ScheduleParameters parameters{.skip_first = below(6),
                                        .wait = below(6),
                                        .warmup = below(4),
                                        .active = 1 + below(5),
                                        .repeat = below(5),
                                        .skip_first_wait = below(2) == 1};
    const auto schedule = make_schedule(parameters);
    ASSERT_TRUE(schedule);
    Walker walker(parameters);
    std::string walked;
    for (int step = 0; step < 90; ++step) walked += walker.next();
    ASSERT_EQ(actions_of(*schedule, 90), walked) << schedule->to_string();
  }
}

// Far from 0 a walk takes too long: there the cycle repeats itself, and the last cycle ends where repeat says.
TEST(Schedule, IsPeriodicFarOut) {
  std::mt19937_64 random(18);
  for (int i = 0; i < 5000; ++i) {
    const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
    const ScheduleParameters p{
        .skip_first = below(1000), .wait = below(50), .warmup = below(9), .active = 1 + below(9)};
    const std::int64_t cycle = p.wait + p.warmup + p.active;
    const auto forever = make_schedule(p);
    const std::int64_t near = p.skip_first + below(static_cast<std::uint64_t>(cycle));
    const std::int64_t cycles = below(static_cast<std::uint64_t>((kMost - near) / cycle));
    ASSERT_EQ(forever->action(near), forever->action(near + cycles * cycle)) << forever->to_string();
    if (cycles == 0) continue;
    ScheduleParameters bounded = p;
    bounded.repeat = cycles;
    const std::int64_t end = p.skip_first + cycles * cycle;
    ASSERT_EQ(make_schedule(bounded)->action(end - 1), ProfilerAction::kRecordAndSave);
    ASSERT_EQ(make_schedule(bounded)->action(end), ProfilerAction::kNone);
  }
}

TEST(Schedule, HugeCountsDoNotOverflow) {
  const auto all = make_schedule({.wait = kMost, .warmup = kMost, .active = kMost, .repeat = kMost});
  EXPECT_EQ(all->action(kMost - 1), ProfilerAction::kNone);
  EXPECT_EQ(all->action(kMost), ProfilerAction::kWarmup);
  const auto shifted = make_schedule(
      {.skip_first = 1, .wait = kMost, .warmup = kMost, .active = kMost, .repeat = kMost, .skip_first_wait = true});
  EXPECT_EQ(shifted->action(0), ProfilerAction::kNone);
  EXPECT_EQ(shifted->action(1), ProfilerAction::kWarmup);
  EXPECT_EQ(shifted->action(kMost), ProfilerAction::kWarmup);
  const auto long_record = make_schedule({.active = kMost, .repeat = kMost});
  EXPECT_EQ(long_record->action(kMost - 2), ProfilerAction::kRecord);
  EXPECT_EQ(long_record->action(kMost - 1), ProfilerAction::kRecordAndSave);
  EXPECT_EQ(long_record->action(kMost), ProfilerAction::kRecord);
  EXPECT_EQ(make_schedule({.skip_first = kMost, .active = 1})->action(kMost), ProfilerAction::kRecordAndSave);
}

TEST(Schedule, StepsBelowZeroAreNothing) {
  EXPECT_EQ(Schedule{}.action(-1), ProfilerAction::kNone);
  EXPECT_EQ(make_schedule({.active = 1})->action(std::numeric_limits<std::int64_t>::min()), ProfilerAction::kNone);
}

TEST(Schedule, RefusesNegativeCountsAndNoActiveStep) {
  using P = ScheduleParameters;
  const std::pair<P, const char*> cases[] = {
      {{.skip_first = -1, .active = 1}, "skip is -1"}, {{.wait = -2, .active = 1}, "wait is -2"},
      {{.warmup = -1, .active = 1}, "warmup is -1"},   {{.active = -1}, "active is -1"},
      {{.active = 1, .repeat = -3}, "repeat is -3"},   {{.wait = 1}, "active is 0"},
  };
  for (const auto& [parameters, expected] : cases) {
    const auto made = make_schedule(parameters);
    ASSERT_FALSE(made) << expected;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(made.error().message.find(expected), std::string::npos) << made.error().message;
  }
}

TEST(Schedule, WarnsOfWhatIsHardlyMeant) {
  EXPECT_EQ(make_schedule({.wait = 1, .active = 1})->warnings().size(), 1U);
  EXPECT_NE(make_schedule({.active = 1})->warnings()[0].find("warmup is 0"), std::string::npos);
  EXPECT_EQ(make_schedule({.warmup = 1, .active = 1, .skip_first_wait = true})->warnings().size(), 1U);
  EXPECT_TRUE(make_schedule({.wait = 1, .warmup = 1, .active = 1, .skip_first_wait = true})->warnings().empty());
}

TEST(Schedule, FromAFunction) {
  const auto schedule = Schedule::from_function(
      [](std::int64_t step) { return step % 3 == 0 ? ProfilerAction::kRecordAndSave : ProfilerAction::kNone; });
  EXPECT_EQ(actions_of(schedule, 5), "snnsn");
  EXPECT_FALSE(schedule.records_always());
  EXPECT_EQ(schedule.to_string(), "function");
}

TEST(ScheduleText, RoundTrip) {
  const std::string text = "skip=10,wait=5,warmup=2,active=3,repeat=2";
  EXPECT_EQ(parse_schedule(text)->to_string(), text);
  EXPECT_EQ(*parse_schedule(text)->parameters(),
            (ScheduleParameters{.skip_first = 10, .wait = 5, .warmup = 2, .active = 3, .repeat = 2}));
  EXPECT_EQ(parse_schedule("active=1,skip_first=4,skip_first_wait=1")->to_string(),
            "skip=4,wait=0,warmup=0,active=1,repeat=0,skip_first_wait=1");
  EXPECT_TRUE(parse_schedule("always")->records_always());
  std::mt19937_64 random(19);
  for (int i = 0; i < 2000; ++i) {
    const auto count = [&] { return static_cast<std::int64_t>(random() >> (1 + random() % 63)); };
    ScheduleParameters p{count(), count(), count(), count(), count(), random() % 2 == 1};
    if (p.active == 0) p.active = 1;
    const auto read = parse_schedule(make_schedule(p)->to_string());
    ASSERT_TRUE(read);
    ASSERT_EQ(*read->parameters(), p);
  }
}

TEST(ScheduleText, ErrorsNameTheKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no key=count"},
      {"wait=1", "active is missing"},
      {"active=1,", "no key=count"},
      {"active", "'active' is no key=count"},
      {"active=", "active is ''"},
      {"active=two", "active is 'two'"},
      {"active=1.5", "active is '1.5'"},
      {"active= 1", "active is ' 1'"},
      {"active=-1", "active is -1"},
      {"active=0", "active is 0"},
      {"active=1,wiat=2", "unknown key 'wiat'"},
      {"active=1,wait=2,wait=2", "wait is given twice"},
      {"skip=1,skip_first=2,active=1", "skip is given twice"},
      {"active=9223372036854775808", "too large"},
      {"active=1,skip_first_wait=2", "0 or 1"},
      {"active=1;wait=2", "active is '1;wait=2'"},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = parse_schedule(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(read.error().message.find(expected), std::string::npos) << read.error().message;
  }
}

std::string operations_of(ProfilerAction previous, std::optional<ProfilerAction> next) {
  std::string text;
  for (const ProfilerOperation each : transition(previous, next)) {
    constexpr const char* kNames[] = {"warn", "prepare", "start", "stop", "ready"};
    if (!text.empty()) text += ' ';
    text += kNames[static_cast<int>(each)];
  }
  return text;
}

TEST(Transition, WholeTable) {
  constexpr auto kNone = ProfilerAction::kNone;
  constexpr auto kWarmup = ProfilerAction::kWarmup;
  constexpr auto kRecord = ProfilerAction::kRecord;
  constexpr auto kSave = ProfilerAction::kRecordAndSave;
  constexpr std::optional<ProfilerAction> kEnd;
  const struct {
    ProfilerAction previous;
    std::optional<ProfilerAction> next;
    const char* expected;
  } table[] = {
      {kNone, kNone, ""},
      {kNone, kWarmup, "prepare"},
      {kNone, kRecord, "prepare start"},
      {kNone, kSave, "prepare start"},
      {kNone, kEnd, ""},
      {kWarmup, kNone, "warn start stop"},
      {kWarmup, kWarmup, ""},
      {kWarmup, kRecord, "start"},
      {kWarmup, kSave, "start"},
      {kWarmup, kEnd, "start stop"},
      {kRecord, kNone, "warn stop"},
      {kRecord, kWarmup, "warn stop"},
      {kRecord, kRecord, ""},
      {kRecord, kSave, ""},
      {kRecord, kEnd, "stop ready"},
      {kSave, kNone, "stop ready"},
      {kSave, kWarmup, "stop ready prepare"},
      {kSave, kRecord, "stop ready prepare start"},
      {kSave, kSave, "stop ready prepare start"},
      {kSave, kEnd, "stop ready"},
  };
  for (const auto& row : table) {
    const std::string text = operations_of(row.previous, row.next);
    EXPECT_EQ(text, row.expected) << action_name(row.previous) << " to " << (row.next ? action_name(*row.next) : "end");
    EXPECT_EQ(transition_warning(row.previous, row.next).empty(), text.find("warn") == std::string::npos);
  }
  EXPECT_NE(transition_warning(kRecord, kNone).find("RECORD is followed by NONE"), std::string::npos);
}

// Whatever the counts: every start is prepared and stopped once, every trace is ready once, nothing warns.
TEST(Transition, CyclesStartAndStopInPairs) {
  std::mt19937 random(20);
  for (int i = 0; i < 3000; ++i) {
    const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
    const auto schedule = make_schedule({.skip_first = below(4),
                                         .wait = below(4),
                                         .warmup = below(3),
                                         .active = 1 + below(3),
                                         .repeat = below(4),
                                         .skip_first_wait = below(2) == 1});
    const std::int64_t length = below(40);
    bool prepared = false, started = false;
    std::int64_t ready_count = 0, saves_count = 0;
    auto previous = ProfilerAction::kNone;
    for (std::int64_t step = 0; step <= length; ++step) {
      const auto next = step < length ? std::optional(schedule->action(step)) : std::nullopt;
      for (const ProfilerOperation each : transition(previous, next)) {
        ASSERT_NE(each, ProfilerOperation::kWarn) << schedule->to_string();
        if (each == ProfilerOperation::kPrepare) prepared = true;
        if (each == ProfilerOperation::kStart) {
          ASSERT_TRUE(prepared && !started);
          started = true;
        }
        if (each == ProfilerOperation::kStop) {
          ASSERT_TRUE(started);
          started = prepared = false;
        }
        ready_count += each == ProfilerOperation::kTraceReady;
      }
      const bool records = next == ProfilerAction::kRecord || next == ProfilerAction::kRecordAndSave;
      ASSERT_EQ(started, records) << schedule->to_string() << " step " << step;
      saves_count += next == ProfilerAction::kRecordAndSave;
      if (next) previous = *next;
    }
    ASSERT_EQ(ready_count, saves_count + (previous == ProfilerAction::kRecord ? 1 : 0));
  }
}

TEST(Schedule, WhatIsNoActionHasNoTransition) {
  const auto wrong = static_cast<ProfilerAction>(200);
  for (const ProfilerAction right : {ProfilerAction::kNone, ProfilerAction::kRecordAndSave}) {
    EXPECT_TRUE(transition(wrong, right).empty());
    EXPECT_TRUE(transition(right, wrong).empty());
    EXPECT_EQ(transition_warning(wrong, right), "");
  }
  EXPECT_TRUE(transition(wrong, std::nullopt).empty());
}

}  // namespace
}  // namespace stepscope
