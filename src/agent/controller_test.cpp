// What opens and closes, at which step, for every way to ask for it. The window is a list of what happened.
#include "agent/controller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "agent/control_socket.h"

namespace stepscope::agent {
namespace {

using Events = std::vector<std::string>;

struct Fake {
  Events events;
  Events remarks;
  bool refuses = false;
  TimeNs now_ns = 0;
  AgentStatus published;

  ControllerParts parts() {
    ControllerParts made;
    made.open_window = [this](std::int64_t step) {
      if (!refuses) events.push_back("open " + std::to_string(step));
      return !refuses;
    };
    made.close_window = [this](std::int64_t step) {
      events.push_back("close " + std::to_string(step));
      return true;
    };
    made.prepare_window = [this] { events.emplace_back("prepare"); };
    made.cancel_window = [this] { events.emplace_back("cancel"); };
    made.hear_spans = [this](bool are_wanted) { events.emplace_back(are_wanted ? "hear" : "rest"); };
    made.write_step = [this](std::int64_t step, TimeNs start_ns, TimeNs end_ns) {
      events.push_back("step " + std::to_string(step) + " " + std::to_string(start_ns) + "-" + std::to_string(end_ns));
    };
    made.now = [this] { return now_ns; };
    made.remark = [this](std::string_view sentence) { remarks.emplace_back(sentence); };
    made.publish = [this](const AgentStatus& status) { published = status; };
    return made;
  }
};

constexpr const char* kSgd = "Optimizer.step#SGD.step";

AgentOptions scheduled(const char* schedule) {
  AgentOptions options;
  options.schedule = schedule;
  return options;
}

// Step i ends at 10 (i + 1).
void run_steps(Controller& controller, int count, int first = 0, const char* name = kSgd) {
  for (int i = first; i < first + count; ++i) controller.note_step_mark(name, 10 * i + 5, 10 * (i + 1));
}

TEST(Controller, WithoutAScheduleRecordsFromStartToEnd) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  run_steps(controller, 3);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "step 1 10-20", "step 2 20-30", "close 2"}));
  EXPECT_EQ(fake.published.step_count, 3U);
  EXPECT_EQ(fake.published.step_name, kSgd);
  EXPECT_TRUE(fake.published.is_over);
}

TEST(Controller, WithoutStepsTheWholeRunIsOneWindow) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "close -1"}));
}

TEST(Controller, FollowsTheScheduleAtTheEndsOfSteps) {
  Fake fake;
  Controller controller(scheduled("skip=1,wait=1,warmup=1,active=2,repeat=2"), fake.parts());
  controller.start();
  run_steps(controller, 12);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"prepare", "open 3", "step 3 30-40", "step 4 40-50", "close 4",  //
                                 "prepare", "open 7", "step 7 70-80", "step 8 80-90", "close 8"}));
  EXPECT_EQ(fake.published.window_count, 2U);
}

// Opening takes a slow machine milliseconds, in which the program stands still.
TEST(Controller, AWindowsFirstStepBeginsWhenRecordingHasBegun) {
  Fake fake;
  Controller controller(scheduled("skip=1,active=2,repeat=1"), fake.parts());
  controller.start();
  fake.now_ns = 17;
  run_steps(controller, 3);
  EXPECT_EQ(fake.events, (Events{"prepare", "open 1", "step 1 17-20", "step 2 20-30", "close 2"}));
}

TEST(Controller, AScheduleWithoutStepsRecordsNothing) {
  Fake fake;
  Controller controller(scheduled("skip=1,active=1"), fake.parts());
  controller.start();
  controller.note_step_mark("forward", 0, 5);
  controller.stop();
  EXPECT_EQ(fake.events, Events{});
  EXPECT_EQ(fake.published.step_count, 0U);
}

TEST(Controller, AWindowThatIsOpenAtTheEndIsClosed) {
  Fake fake;
  Controller controller(scheduled("active=5"), fake.parts());
  controller.start();
  run_steps(controller, 2);
  controller.stop();
  run_steps(controller, 9, 2);  // nothing after it
  EXPECT_EQ(fake.events, (Events{"prepare", "open 0", "step 1 10-20", "close 1"}));
}

TEST(Controller, EveryNHasThreeActiveStepsAtTheEndOfEachN) {
  for (const std::uint64_t every : {3U, 4U, 5U, 6U, 100U}) {
    AgentOptions options;
    options.every = every;
    const auto schedule = wanted_schedule(options);
    ASSERT_TRUE(schedule);
    std::uint64_t active = 0;
    for (std::uint64_t step = 0; step < every; ++step) {
      const ProfilerAction action = schedule->action(static_cast<std::int64_t>(step));
      const bool is_active = action == ProfilerAction::kRecord || action == ProfilerAction::kRecordAndSave;
      EXPECT_EQ(is_active, step >= every - 3) << every << " " << step;
      active += is_active ? 1 : 0;
    }
    EXPECT_EQ(active, 3U);
    EXPECT_EQ(schedule->action(static_cast<std::int64_t>(every) - 1), ProfilerAction::kRecordAndSave);
  }
  EXPECT_FALSE(wanted_schedule({}));
  AgentOptions most;
  most.every = ~std::uint64_t{0};
  EXPECT_TRUE(wanted_schedule(most));
}

TEST(Controller, ProfilerStepsTakeOverFromOptimizersAndKeepTheirNumbers) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  controller.note_step_mark(kSgd, 0, 10);
  controller.note_step_mark("ProfilerStep#41", 0, 20);
  controller.note_step_mark(kSgd, 21, 22);
  controller.note_step_mark("ProfilerStep#42", 20, 30);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "close 42"}));  // the program's spans are there already
  EXPECT_EQ(fake.published.step_count, 3U);
}

TEST(Controller, OptimizersEndStepsAgainOnceTheSessionOfProfilerStepsIsOver) {
  Fake fake;
  Controller controller(scheduled("wait=14,active=2"), fake.parts());
  controller.start();
  for (int i = 0; i < 3; ++i) {
    controller.note_step_mark(kSgd, 10 * i, 10 * i + 8);
    controller.note_step_mark(("ProfilerStep#" + std::to_string(i)).c_str(), 10 * i, 10 * i + 9);
  }
  run_steps(controller, 10, 3);
  EXPECT_EQ(controller.status().step_count, 4U) << "the first optimizer's, and the three";
  EXPECT_EQ(controller.status().step_name, "ProfilerStep#");
  run_steps(controller, 13, 13);
  EXPECT_EQ(controller.status().step_count, 17U);
  EXPECT_EQ(controller.status().step_name, kSgd);
  EXPECT_EQ(fake.events, (Events{"prepare", "open 13", "step 13 230-240", "step 14 240-250", "close 14"}));
}

TEST(Controller, TheFirstStepAfterASessionHasNoKnownStart) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  controller.note_step_mark("ProfilerStep#0", 0, 9);
  run_steps(controller, 11, 1);
  EXPECT_EQ(fake.events, (Events{"open -1", "step 2 100-110", "step 3 110-120"}));
}

TEST(Controller, ProfilerStepsOfManyPassesStayTheSteps) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  controller.note_step_mark("ProfilerStep#0", 0, 10);
  run_steps(controller, 100, 1);  // one ProfilerStep an epoch
  controller.note_step_mark("ProfilerStep#1", 11, 1011);
  EXPECT_EQ(controller.status().step_name, "ProfilerStep#");
  const auto count = controller.status().step_count;
  run_steps(controller, 200, 102);
  EXPECT_EQ(controller.status().step_count, count);
  // Of another session nothing is learnt: what lies before it is no step of it.
  run_steps(controller, 100, 302);
  EXPECT_EQ(controller.status().step_name, kSgd);
}

TEST(Controller, BetweenTwoSessionsLieNoStepsOfASession) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  controller.note_step_mark("ProfilerStep#0", 0, 10);
  run_steps(controller, 1000, 1);
  controller.note_step_mark("ProfilerStep#0", 10010, 10020);
  EXPECT_EQ(controller.status().step_name, "ProfilerStep#");
  run_steps(controller, 9, 1002);
  EXPECT_EQ(controller.status().step_name, kSgd);
}

TEST(Controller, OnlyTheFirstOptimizerCounts) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  for (int i = 0; i < 4; ++i) {
    controller.note_step_mark("Optimizer.step#Adam.step", 10 * i, 10 * i + 4);
    controller.note_step_mark(kSgd, 10 * i + 5, 10 * i + 9);
  }
  controller.stop();
  EXPECT_EQ(fake.published.step_count, 4U);
}

std::uint64_t step_count_of(std::string_view pattern, int cycle_count) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  for (int i = 0; i < cycle_count; ++i) {
    for (const char each : pattern) {
      const char* const name = each == 'z'   ? "Optimizer.zero_grad#SGD.zero_grad"
                               : each == 's' ? kSgd
                                             : "Optimizer.step#Adam.step";
      EXPECT_TRUE(controller.is_step_mark(name));
      controller.note_step_mark(name, i, i + 1);
    }
  }
  controller.stop();
  EXPECT_EQ(fake.published.step_name, kSgd);
  return fake.published.step_count;
}

TEST(Controller, OptimizersOfOneClassThatStepTogetherAreOneStep) {
  EXPECT_EQ(step_count_of("s", 10), 10U);
  EXPECT_EQ(step_count_of("zs", 10), 10U);
  EXPECT_EQ(step_count_of("sz", 10), 10U);
  EXPECT_EQ(step_count_of("zzss", 10), 11U) << "the first two counted before it was known that they are one";
  EXPECT_EQ(step_count_of("zsssa", 10), 12U) << "three of SGD, one of Adam";
  EXPECT_EQ(step_count_of("zzzsss", 1), 3U);
}

TEST(Controller, ARunOfOtherLengthIsLearntAnew) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  auto note = [&](std::string_view pattern) {
    for (const char each : pattern)
      controller.note_step_mark(each == 'z' ? "Optimizer.zero_grad#SGD.zero_grad" : kSgd, 0, 1);
  };
  note("zssssss");  // zero_grad once before the loop: each is a step
  EXPECT_EQ(controller.status().step_count, 6U);
  note("zs");  // six would be one now
  EXPECT_EQ(controller.status().step_count, 6U);
  note("zszszs");
  EXPECT_EQ(controller.status().step_count, 9U);
  note("sss");  // without zero_grad again
  EXPECT_EQ(controller.status().step_count, 12U);
}

// Step i, told by the hooks of torch.optim, ends at 10 (i + 1).
void run_hooked_steps(Controller& controller, int count, int first = 0) {
  for (int i = first; i < first + count; ++i) controller.note_optimizer_step(kSgd, 10 * (i + 1), 1, 1);
}

TEST(Controller, HooksThatTellOfOptimizersAreTheOnlySource) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  EXPECT_TRUE(controller.is_step_mark(kSgd)) << "until a hook has told";
  run_hooked_steps(controller, 1);
  EXPECT_FALSE(controller.is_step_mark(kSgd));
  EXPECT_FALSE(controller.is_step_mark("Optimizer.zero_grad#SGD.zero_grad"));
  EXPECT_TRUE(controller.is_step_mark("ProfilerStep#1"));
  controller.note_step_mark(kSgd, 10, 11);  // the same, as NVTX hears it
  run_hooked_steps(controller, 1, 1);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "step 1 10-20", "close 1"}));
  EXPECT_EQ(fake.published.step_name, kSgd);
}

TEST(Controller, RestsOnceHooksHaveEndedThreeSteps) {
  AgentOptions options;
  options.start_paused = true;
  Fake fake;
  Controller controller(options, fake.parts());
  controller.start();
  run_hooked_steps(controller, 2);
  EXPECT_EQ(fake.events, Events{});
  run_hooked_steps(controller, 1, 2);
  EXPECT_EQ(fake.events, Events{"rest"});
  run_hooked_steps(controller, 5, 3);
  EXPECT_EQ(fake.events, Events{"rest"});
  controller.stop();
}

TEST(Controller, SpansAreHeardWhereNoHookTells) {
  AgentOptions options;
  options.start_paused = true;
  Fake fake;
  Controller controller(options, fake.parts());
  controller.start();
  run_steps(controller, 10);
  EXPECT_EQ(fake.events, Events{});
  EXPECT_EQ(controller.status().step_count, 10U);
}

TEST(Controller, AProfilerStepIsHeardFromThenOn) {
  AgentOptions options;
  options.start_paused = true;
  Fake fake;
  Controller early(options, fake.parts());
  early.start();
  for (int i = 0; i < 5; ++i) {
    run_hooked_steps(early, 1, 2 * i);
    run_steps(early, 1, 2 * i + 1, ("ProfilerStep#" + std::to_string(i)).c_str());
  }
  EXPECT_EQ(fake.events, Events{});
  EXPECT_EQ(early.status().step_count, 6U) << "the first optimizer's, and the five";
  // One that comes later is heard in a window.
  Controller late(scheduled("wait=4,active=2,repeat=1"), fake.parts());
  late.start();
  run_hooked_steps(late, 4);
  run_steps(late, 1, 4, "ProfilerStep#4");
  run_hooked_steps(late, 1, 4);
  run_steps(late, 1, 5, "ProfilerStep#5");
  EXPECT_EQ(fake.events, (Events{"rest", "prepare", "open 4", "hear", "close 5"}));
}

TEST(Controller, WhatAWarmUpHasReadyStaysUntilItsWindow) {
  Fake fake;
  Controller controller(scheduled("wait=1,warmup=3,active=2,repeat=1"), fake.parts());
  controller.start();
  run_hooked_steps(controller, 7);
  EXPECT_EQ(fake.events, (Events{"prepare", "open 4", "step 4 40-50", "rest", "step 5 50-60", "close 5"}));
}

TEST(Controller, AStopInAWarmUpEndsIt) {
  Fake fake;
  Controller controller(scheduled("wait=1,warmup=3,active=2"), fake.parts());
  controller.start();
  run_steps(controller, 2);
  controller.request_stop("a test");
  run_steps(controller, 9, 2);
  EXPECT_EQ(fake.events, (Events{"prepare", "cancel"}));
}

TEST(Controller, TwoOptimizersOfOneLineAreToldApartByHooks) {
  Fake fake;
  Controller controller({}, fake.parts());
  controller.start();
  for (int i = 0; i < 10; ++i) {
    controller.note_optimizer_step(kSgd, 10 * i, 1, 1);
    controller.note_optimizer_step(kSgd, 10 * i + 5, 1, 2);
  }
  EXPECT_EQ(controller.status().step_count, 10U);
}

TEST(Controller, TheUsersNameIsTheOnlyMark) {
  AgentOptions options;
  options.step_name = "train step";
  Fake fake;
  Controller controller(options, fake.parts());
  EXPECT_TRUE(controller.is_step_mark("train step"));
  EXPECT_TRUE(controller.is_step_mark("train step#7"));
  EXPECT_TRUE(controller.is_step_mark("train step 7"));
  EXPECT_FALSE(controller.is_step_mark("train step seven"));
  EXPECT_FALSE(controller.is_step_mark("train"));
  EXPECT_FALSE(controller.is_step_mark("ProfilerStep#1"));
  EXPECT_FALSE(controller.is_step_mark(kSgd));
  controller.start();
  controller.note_optimizer_step(kSgd, 5, 1, 1);
  controller.note_step_mark("train step#7", 0, 10);
  controller.note_step_mark("train step#8", 10, 20);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "step 8 10-20", "close 8"}));
}

TEST(Controller, PausedWaitsForARequest) {
  AgentOptions options;
  options.start_paused = true;
  Fake fake;
  Controller controller(options, fake.parts());
  controller.start();
  run_steps(controller, 2);
  EXPECT_TRUE(controller.status().is_paused);
  controller.request_start("a test");
  EXPECT_TRUE(controller.has_request());
  EXPECT_EQ(fake.events, Events{});
  run_steps(controller, 2, 2);  // the first of them lets it begin
  controller.request_stop("a test");
  run_steps(controller, 2, 4);
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open 3", "step 3 30-40", "step 4 40-50", "close 4"}));
  EXPECT_EQ(fake.remarks.size(), 2U);
}

TEST(Controller, ASignalOpensAndTheNextOneCloses) {
  AgentOptions options;
  options.start_paused = true;
  Fake fake;
  Controller controller(options, fake.parts());
  controller.start();
  for (int i = 0; i < 4; ++i) {
    controller.request_toggle("a signal");
    controller.run_requests();
    run_steps(controller, 1, i);
  }
  controller.stop();
  EXPECT_EQ(fake.events, (Events{"open -1", "close 0", "open 2", "step 2 20-30", "close 2"}));
  EXPECT_EQ(fake.remarks.at(0), "a start was asked for by a signal");
}

TEST(Controller, PausedWithAScheduleCountsFromTheRequest) {
  AgentOptions options = scheduled("wait=1,active=1,repeat=1");
  options.start_paused = true;
  Fake fake;
  Controller controller(options, fake.parts());
  controller.start();
  run_steps(controller, 10);
  controller.request_start("a test");
  controller.run_requests();
  run_steps(controller, 5, 10);
  EXPECT_EQ(fake.events, (Events{"prepare", "open 11", "step 11 110-120", "close 11"}));
}

TEST(Controller, AStopEndsTheScheduleToo) {
  Fake fake;
  Controller controller(scheduled("active=2"), fake.parts());
  controller.start();
  run_steps(controller, 1);
  controller.request_stop("a test");
  controller.run_requests();
  run_steps(controller, 5, 1);
  EXPECT_EQ(fake.events, (Events{"prepare", "open 0", "close 0"}));
}

TEST(Controller, AWindowThatDoesNotOpenIsNotClosed) {
  Fake fake;
  fake.refuses = true;
  Controller controller({}, fake.parts());
  controller.start();
  run_steps(controller, 3);
  controller.stop();
  EXPECT_EQ(fake.events, Events{});
  EXPECT_EQ(fake.published.window_count, 0U);
}

TEST(Controller, AScheduleThatIsNotUnderstoodRecordsEverything) {
  Fake fake;
  Controller controller(scheduled("sometimes"), fake.parts());
  controller.start();
  EXPECT_EQ(fake.events, Events{"open -1"});
  EXPECT_EQ(fake.remarks.size(), 1U);
}

TEST(Controller, ManyThreadsMayMarkAndAsk) {
  Fake fake;
  Controller controller(scheduled("wait=3,active=2"), fake.parts());
  controller.start();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&controller, thread] {
      for (int i = 0; i < 500; ++i) {
        controller.note_step_mark(kSgd, 0, 0);
        if (thread == 0 && i % 50 == 0) controller.request_stop("a test");
        if (thread == 1 && i % 50 == 25) controller.request_start("a test");
        (void)controller.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  controller.stop();
  EXPECT_EQ(fake.published.step_count, 2000U);
  int open = 0;
  for (const std::string& event : fake.events) {
    if (event.starts_with("open")) ++open;
    if (event.starts_with("close")) --open;
    EXPECT_TRUE(open == 0 || open == 1) << event;
  }
  EXPECT_EQ(open, 0);
}

class ControlSocket : public testing::Test {
 protected:
  ControlSocket() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stepscope_control_XXXXXX").string();
    folder = mkdtemp(pattern.data());
    path = folder + "/1.sock";
  }
  ~ControlSocket() override {
    stop_control_socket();
    std::filesystem::remove_all(folder);
  }
  ControlSocketSetup setup() const {
    ControlSocketSetup made;
    made.path = path;
    made.answer = [](std::string_view line) { return "you said " + std::string(line) + "\n"; };
    made.is_waiting = [] { return false; };
    made.do_waiting = [] {};
    return made;
  }
  [[nodiscard]] std::string ask(const std::string& text) const {
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    std::string answer;
    if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      EXPECT_EQ(send(client, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
      (void)shutdown(client, SHUT_WR);
      char byte = 0;
      while (read(client, &byte, 1) == 1) answer += byte;
    }
    close(client);
    return answer;
  }

  std::string folder, path;
};

TEST_F(ControlSocket, AnswersOneLineEach) {
  ASSERT_EQ(start_control_socket(setup()), "");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(ask("status\nmore\n"), "you said status\n");
  EXPECT_EQ(ask("no end"), "you said no end\n");
  EXPECT_EQ(ask(std::string(10'000, 'x')).size(), std::string("you said \n").size() + 256);
  stop_control_socket();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(ask("status\n"), "");
}

TEST_F(ControlSocket, RefusesAPathThatOthersCouldReplace) {
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_NE(start_control_socket(setup()), "");
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  path = folder + "/" + std::string(200, 'x');
  EXPECT_NE(start_control_socket(setup()), "");
  path = folder + "/no/1.sock";
  EXPECT_NE(start_control_socket(setup()), "");
  path = folder + "/1.sock";
  ASSERT_EQ(start_control_socket(setup()), "");
  EXPECT_NE(start_control_socket(setup()), "") << "the path is taken";
}

TEST_F(ControlSocket, ReplacedFilesAreWhole) {
  const std::string file = folder + "/status";
  EXPECT_TRUE(replace_file(file, "a"));
  EXPECT_TRUE(replace_file(file, "bc"));
  EXPECT_EQ(std::filesystem::file_size(file), 2U);
  EXPECT_FALSE(replace_file(folder + "/no/status", "a"));
}

}  // namespace
}  // namespace stepscope::agent
