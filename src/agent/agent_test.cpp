// The agent as a program has it: armed, windows opened and closed, the file read back. No GPU: a fake CUPTI. What ends
// a process (exit, SIGKILL, fork) happens in a child of the test.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "agent/agent_state.h"
#include "agent/capture_test_support.h"
#include "agent/fake_cupti_test_support.h"
#include "agent/fake_torch.h"
#include "agent/gpu.h"
#include "agent/remarks.h"
#include "agent/torch_hook.h"
#include "capture/event_ring.h"

// Leak checkers ask this at each exit. A forked child has what the parent's other threads were in the middle of, and
// nobody who would free it.
static const pid_t test_process = getpid();
extern "C" int __lsan_is_turned_off() { return getpid() != test_process ? 1 : 0; }  // NOLINT: the checker's name

extern "C" long long stepscope_agent_begin_overhead() noexcept;
extern "C" void stepscope_agent_end_overhead(const char* what, long long start_ns) noexcept;

namespace stepscope::agent {
namespace {

class AgentTest : public testing::Test {
 protected:
  void SetUp() override { forget_everything(); }
  void TearDown() override {
    finish();
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
    forget_everything();
  }
  [[nodiscard]] AgentOptions paused() const {
    AgentOptions options;
    options.directory = folder.path();
    options.start_paused = true;
    return options;
  }
  // A process of its own that does `body`; how it ended (waitpid's status).
  template <class Body>
  static int in_process(Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
      // As a program that was started, not forked: the test's own agent is no part of it.
      forget_everything();
      allow_events_in_child();
      body();
      std::exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  TestFolder folder;
  std::unique_ptr<Gpu> gpu;
};

void emit_ops(int count, std::uint64_t first = 0) {
  HookEvent event;
  event.name = intern_name("aten::mul");
  event.start_ns = now_ns();
  event.end_ns = event.start_ns + 100;
  for (int i = 0; i < count; ++i) {
    event.a = first + static_cast<std::uint64_t>(i) + 1;
    emit_event(event);
  }
}

TEST_F(AgentTest, AWindowBecomesAFileThatSaysWhatHappened) {
  ASSERT_TRUE(arm_with(paused()));
  emit_ops(5);  // nothing is open
  ASSERT_TRUE(open_window(3));
  EXPECT_FALSE(open_window(4));
  emit_ops(7);
  ASSERT_TRUE(close_window(5));
  EXPECT_FALSE(close_window(6));
  finish();
  ASSERT_EQ(folder.files().size(), 1U);
  int damage_count = 0;
  const Records records = read_capture(folder.files()[0], &damage_count);
  EXPECT_EQ(damage_count, 0);
  EXPECT_TRUE(records.has_end);
  ASSERT_EQ(records.infos.size(), 1U);
  EXPECT_EQ(records.infos[0].process_id, getpid());
  ASSERT_TRUE(records.infos[0].process_start_ns.has_value());
  const DurationNs age_ns = records.infos[0].start_ns - records.infos[0].process_start_ns.value();
  EXPECT_GE(age_ns, 0);
  EXPECT_LT(age_ns, 3600'000'000'000) << "this test has not run for an hour";
  EXPECT_FALSE(records.infos[0].command_line.empty());
  ASSERT_EQ(records.ops.size(), 7U);
  EXPECT_EQ(records.strings.at(records.ops[0].name), "aten::mul");
  EXPECT_EQ(records.ops[6].sequence.value_or(-1), 6);
  EXPECT_EQ(records.threads.size(), 1U);
  ASSERT_EQ(records.windows.size(), 1U);
  EXPECT_EQ(records.windows[0].first_step, 3);
  EXPECT_EQ(records.windows[0].last_step, 5);
  EXPECT_LE(records.windows[0].start_ns, records.ops[0].start_ns);
  EXPECT_EQ(records.total().dropped_host_count, 0U);
}

TEST_F(AgentTest, AProcessInWhichNothingHappensLeavesNoFile) {
  ASSERT_TRUE(arm_with(paused()));
  ASSERT_TRUE(open_window(-1));
  ASSERT_TRUE(close_window(-1));
  finish();
  EXPECT_TRUE(folder.files().empty());
}

TEST_F(AgentTest, TimeThatWeTakeStandsInTheFileUnderOurName) {
  ASSERT_TRUE(arm_with(paused()));
  const TimeNs early_ns = stepscope_agent_begin_overhead();
  stepscope_agent_end_overhead("came too early", early_ns);  // no window is open
  ASSERT_TRUE(open_window(-1));
  const TimeNs start_ns = stepscope_agent_begin_overhead();
  usleep(100);
  stepscope_agent_end_overhead("wrote a memory snapshot", start_ns);
  stepscope_agent_end_overhead(nullptr, start_ns);
  stepscope_agent_end_overhead("is no time", now_ns() + 1'000'000'000);
  emit_ops(1);
  ASSERT_TRUE(close_window(-1));
  finish();
  ASSERT_EQ(folder.files().size(), 1U);
  const Records records = read_capture(folder.files()[0]);
  std::vector<std::string> names;
  for (const WireOverhead& overhead : records.overheads) names.push_back(records.strings.at(overhead.name));
  ASSERT_EQ(names, (std::vector<std::string>{"Stepscope began to record", "Stepscope wrote a memory snapshot"}));
  EXPECT_EQ(records.overheads[1].start_ns, start_ns);
  EXPECT_GE(records.overheads[1].end_ns, start_ns + 100'000);
  EXPECT_EQ(records.overheads[1].thread_id, records.ops.at(0).thread_id);
}

TEST_F(AgentTest, EachKindOfEventArrives) {
  ASSERT_TRUE(arm_with(paused()));
  ASSERT_TRUE(open_window(-1));
  HookEvent event;
  event.name = intern_name("aten::mm");
  event.detail = intern_name("[[2, 3]]\n[\"float\"]\n[\"\"]").value + 1;
  emit_event(event);
  event = {};
  event.kind = HookEventKind::kSpan;
  event.name = intern_name("range");
  event.flags = static_cast<std::uint16_t>(WireSpanSource::kLibrary) | kSpanIsAsync;
  emit_event(event);
  event = {};
  event.kind = HookEventKind::kAllocation;
  event.b = static_cast<std::uint64_t>(-512);
  event.flags = 1 << 8 | 3;
  emit_event(event);
  event = {};
  event.kind = HookEventKind::kCounter;
  event.name = intern_name("loss");
  event.a = std::bit_cast<std::uint64_t>(0.25);
  emit_event(event);
  close_window(-1);
  finish();
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.strings.at(records.ops.at(0).shapes), "[[2, 3]]");
  EXPECT_EQ(records.strings.at(records.ops.at(0).types), "[\"float\"]");
  EXPECT_TRUE(records.spans.at(0).is_async);
  EXPECT_EQ(records.spans.at(0).source, WireSpanSource::kLibrary);
  EXPECT_EQ(records.memory.at(0).bytes, -512);
  EXPECT_EQ(records.memory.at(0).device_type, 1);
  EXPECT_EQ(records.memory.at(0).device_number, 2);
  EXPECT_EQ(records.counters.at(0).value, 0.25);
}

// CUDA calls us while it starts; CUPTI is there to be loaded.
class CudaProgramTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    replace_cupti_loader(FakeCupti::load);
  }
  void TearDown() override {
    AgentTest::TearDown();
    replace_cupti_loader(nullptr);
    unsetenv(kAgentOptionsVariable);
  }
  static void start_cuda(const AgentOptions& options) {
    setenv(kAgentOptionsVariable, format_agent_options(options).c_str(), 1);
    ASSERT_TRUE(arm("cuda"));
    ASSERT_TRUE(state().is_active);
  }
  void expect_untouched() const {
    EXPECT_EQ(cupti.load_count, 0);
    EXPECT_EQ(cupti.clock_count, 0);
    EXPECT_EQ(cupti.subscriber_count, 0);
    EXPECT_EQ(attached_gpu(), nullptr);
  }

  FakeCupti cupti;
};

TEST_F(CudaProgramTest, AnAgentAtRestHasLoadedNoCupti) {
  start_cuda(paused());
  cupti.launch();
  ASSERT_TRUE(arm("cuda"));
  ASSERT_TRUE(arm("nvtx"));
  request_stop("nobody");
  expect_untouched();
  finish();
  expect_untouched();
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EQ(complaint_line(), "");
}

TEST_F(CudaProgramTest, TheWaitOfAScheduleIsRestToo) {
  AgentOptions options = paused();
  options.start_paused = false;
  options.schedule = "wait=2,warmup=1,active=1,repeat=1";
  start_cuda(options);
  note_step_mark("ProfilerStep#0", 10, 20);
  expect_untouched();
  note_step_mark("ProfilerStep#1", 20, 30);
  EXPECT_EQ(cupti.load_count, 1) << "in the warm-up";
  EXPECT_FALSE(is_window_open());
  EXPECT_EQ(cupti.subscriber_count, 0);
  EXPECT_EQ(cupti.buffer_request_count, 0U);
  note_step_mark("ProfilerStep#2", 30, 40);
  ASSERT_TRUE(is_window_open());
  cupti.launch();
  note_step_mark("ProfilerStep#3", 40, 50);
  finish();
  EXPECT_EQ(cupti.load_count, 1);
  EXPECT_EQ(cupti.clock_count, 1);
  EXPECT_EQ(read_capture(folder.files().at(0)).gpu_events.size(), 1U);
}

TEST_F(CudaProgramTest, TheFirstWindowLoadsItBeforeItBegins) {
  start_cuda(paused());
  ASSERT_TRUE(open_window(-1));
  cupti.launch();
  ASSERT_TRUE(close_window(-1));
  ASSERT_TRUE(open_window(-1));
  cupti.launch();
  ASSERT_TRUE(close_window(-1));
  finish();
  EXPECT_EQ(cupti.load_count, 1);
  EXPECT_EQ(cupti.clock_count, 1);
  EXPECT_EQ(cupti.subscriber_count, 0);
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.gpu_events.size(), 2U);
  EXPECT_EQ(records.total().unmatched_count, 0U);
  ASSERT_EQ(records.infos.size(), 1U);
  EXPECT_TRUE(records.infos[0].records_gpu);
  EXPECT_EQ(records.infos[0].cupti_version.value_or(0), 130001);
}

TEST_F(CudaProgramTest, ACudaThatComesBetweenWindowsIsInTheNextAndSaidAnew) {
  ASSERT_TRUE(arm_with(paused()));  // PyTorch, say, made it active
  ASSERT_TRUE(open_window(-1));
  emit_ops(1);
  ASSERT_TRUE(close_window(-1));
  for (int turn = 0; turn < 200'000 && folder.files().empty(); ++turn) usleep(100);
  ASSERT_TRUE(arm("cuda"));
  expect_untouched();
  ASSERT_TRUE(open_window(-1));
  cupti.launch();
  ASSERT_TRUE(close_window(-1));
  finish();
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.gpu_events.size(), 1U);
  ASSERT_EQ(records.infos.size(), 2U);
  EXPECT_FALSE(records.infos[0].records_gpu);
  EXPECT_TRUE(records.infos[1].records_gpu);
}

TEST_F(CudaProgramTest, ACudaThatComesInsideAWindowIsRecordedAtOnceAndTheStopIsOurs) {
  ASSERT_TRUE(arm_with(paused()));
  ASSERT_TRUE(open_window(-1));
  ASSERT_TRUE(arm("cuda"));
  EXPECT_EQ(cupti.load_count, 1);
  cupti.launch();
  ASSERT_TRUE(close_window(-1));
  finish();
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.gpu_events.size(), 1U);
  std::vector<std::string> names;
  for (const WireOverhead& overhead : records.overheads) names.push_back(records.strings.at(overhead.name));
  EXPECT_EQ(names, (std::vector<std::string>{"Stepscope began to record", "Stepscope began to record the GPU"}));
  EXPECT_TRUE(records.infos.back().records_gpu);
}

TEST_F(CudaProgramTest, GraphsAreHeardFromTheStart) {
  AgentOptions options = paused();
  options.graphs = true;
  start_cuda(options);
  EXPECT_EQ(cupti.load_count, 1);
  EXPECT_EQ(cupti.subscriber_count, 1);
}

TEST_F(CudaProgramTest, WithoutTheGpuNothingIsLoadedEver) {
  AgentOptions options = paused();
  options.gpu = false;
  setenv(kAgentOptionsVariable, format_agent_options(options).c_str(), 1);
  ASSERT_TRUE(arm("cuda"));
  ASSERT_TRUE(arm("nvtx"));
  prepare_window();
  ASSERT_TRUE(open_window(-1));
  expect_untouched();
}

TEST_F(CudaProgramTest, ACuptiThatIsMissingIsSaidOnceAWindowWantsIt) {
  static int asked_count = 0;
  asked_count = 0;
  replace_cupti_loader([]() -> Result<CuptiTable> {
    ++asked_count;
    return Error{ErrorCode::kNotFound, "no libcupti", {}};
  });
  start_cuda(paused());
  EXPECT_EQ(complaint_line(), "") << "nobody has missed it yet";
  prepare_window();
  for (int window = 0; window < 2; ++window) {
    ASSERT_TRUE(open_window(-1));
    emit_ops(1);
    ASSERT_TRUE(close_window(-1));
  }
  finish();
  EXPECT_EQ(asked_count, 1);
  EXPECT_EQ(complaint_line(), "stepscope: no libcupti");
  const Records records = read_capture(folder.files().at(0));
  EXPECT_TRUE(records.has_remark("no libcupti"));
  EXPECT_FALSE(records.infos.at(0).records_gpu);
}

TEST_F(CudaProgramTest, AForkedChildOfACudaProgramLoadsNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a child that starts threads after a fork of many";
#endif
  AgentOptions options = paused();
  options.follow_children = true;
  start_cuda(options);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_open = open_window(-1) && arm("cuda");
    _exit(is_open && cupti.load_count == 0 && attached_gpu() == nullptr ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(AgentTest, LaunchesUnderWayAtTheStopAreWaitedForWithoutADeviceSynchronize) {
  FakeCupti cupti;
  gpu = std::make_unique<Gpu>(FakeCupti::table(), paused());
  replace_gpu(gpu.get());
  ASSERT_TRUE(gpu->attach());
  ASSERT_TRUE(arm_with(paused()));
  // Set before the window opens: the worker may ask CUPTI from then on.
  std::atomic<std::uint32_t> slow{0};
  int asked_count = 0;
  cupti.on_flush = [&] {
    // Its kernel ends after the stop, at the third time the agent asks.
    if (slow == 0 || is_window_open() || ++asked_count != 3) return;
    cupti.enabled.insert(CuptiKind::kConcurrentKernel), cupti.kernel(slow, 10, 20);
  };
  ASSERT_TRUE(open_window(-1));
  cupti.launch();
  slow = cupti.call(FakeCupti::kLaunch);
  cupti.launch();
  close_window(-1);
  finish();
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.gpu_events.size(), 3U);
  EXPECT_EQ(records.total().launch_count, 3U);
  EXPECT_EQ(records.total().unmatched_count, 0U);
  EXPECT_TRUE(records.remarks.empty());
  EXPECT_TRUE(records.infos.at(0).records_gpu);
  EXPECT_EQ(records.infos.at(0).cupti_version.value_or(0), 130001);
}

TEST_F(AgentTest, AWindowWhoseOnlyRecordComesAfterItsEndStandsInTheFile) {
  FakeCupti cupti;
  gpu = std::make_unique<Gpu>(FakeCupti::table(), paused());
  replace_gpu(gpu.get());
  ASSERT_TRUE(gpu->attach());
  ASSERT_TRUE(arm_with(paused()));
  // A kernel that was launched before the window.
  bool is_delivered = false;
  cupti.on_flush = [&] {
    if (is_window_open() || std::exchange(is_delivered, true)) return;
    cupti.enabled.insert(CuptiKind::kConcurrentKernel), cupti.kernel(7, 10, 20);
  };
  ASSERT_TRUE(open_window(3));
  close_window(5);
  finish();
  ASSERT_EQ(folder.files().size(), 1U);
  const Records records = read_capture(folder.files()[0]);
  EXPECT_EQ(records.gpu_events.size(), 1U);
  ASSERT_EQ(records.windows.size(), 1U);
  EXPECT_EQ(records.windows[0].first_step, 3);
}

TEST_F(AgentTest, AWindowThatComesAndGoesWhileAnotherSettlesIsSettledToo) {
  FakeCupti cupti;
  gpu = std::make_unique<Gpu>(FakeCupti::table(), paused());
  replace_gpu(gpu.get());
  ASSERT_TRUE(gpu->attach());
  ASSERT_TRUE(arm_with(paused()));
  std::atomic<bool> is_second_over{false};
  int flush_count_at_its_end = 0;
  cupti.on_flush = [&] {
    if (!is_second_over && !is_window_open()) {
      // The first has ended and settles. On another thread, as a step that goes on while the worker collects.
      std::thread([&] {
        EXPECT_TRUE(open_window(7));
        EXPECT_TRUE(close_window(8));
      }).join();
      flush_count_at_its_end = cupti.flush_count;
      is_second_over = true;
    }
    // The second window's kernel: only its own settling asks again.
    if (is_second_over && cupti.flush_count == flush_count_at_its_end + 2) {
      cupti.enabled.insert(CuptiKind::kConcurrentKernel), cupti.kernel(9, 10, 20);
    }
  };
  ASSERT_TRUE(open_window(3));
  ASSERT_TRUE(close_window(5));
  while (!is_second_over) usleep(100);
  // Before the process ends, which asks once more in any case.
  for (int turn = 0; turn < 200'000 && folder.files().empty(); ++turn) usleep(100);
  EXPECT_EQ(folder.files().size(), 1U);
  finish();
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.gpu_events.size(), 1U);
  EXPECT_EQ(records.windows.size(), 1U);
}

TEST_F(AgentTest, TwoHundredThreadsLaunchAndComputeWhileWindowsComeAndGo) {
  FakeCupti cupti;
  gpu = std::make_unique<Gpu>(FakeCupti::table(), paused());
  replace_gpu(gpu.get());
  ASSERT_TRUE(gpu->attach());
  ASSERT_TRUE(arm_with(paused()));
  std::vector<std::thread> threads;
  std::atomic<bool> is_over{false};
  for (int t = 0; t < 200; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        emit_ops(3);
        cupti.launch();
      }
    });
  }
  std::thread opener([&] {
    while (!is_over) {
      open_window(-1);
      std::this_thread::yield();
      close_window(-1);
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  opener.join();
  finish();
  for (const auto& file : folder.files()) {
    int damage_count = 0;
    EXPECT_TRUE(read_capture(file, &damage_count).has_end);
    EXPECT_EQ(damage_count, 0);
  }
  EXPECT_EQ(cupti.subscriber_count, 0);
  EXPECT_TRUE(cupti.enabled.empty());
}

TEST_F(AgentTest, AFolderThatCannotBeWrittenIsSaidAndTheProgramGoesOn) {
  AgentOptions options = paused();
  options.directory = "/proc/nowhere/deep";
  ASSERT_TRUE(arm_with(options));
  ASSERT_TRUE(open_window(-1));
  emit_ops(1);
  close_window(-1);
  finish();
  EXPECT_NE(complaint_line().find("no capture"), std::string::npos);
  EXPECT_FALSE(open_window(-1));
}

TEST_F(AgentTest, TheSizeLimitStopsTheCaptureAndIsSaid) {
  AgentOptions options = paused();
  options.max_file_bytes = 512 << 10;
  ASSERT_TRUE(arm_with(options));
  ASSERT_TRUE(open_window(-1));
  std::uint64_t seed = 1;
  for (int i = 0; i < 200 && is_window_open(); ++i) {
    for (int j = 0; j < 1'000; ++j) {
      HookEvent event;
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      event.start_ns = static_cast<TimeNs>(seed >> 2);
      event.a = seed;
      event.name = intern_name("aten::mul");
      emit_event(event);
    }
    usleep(2'000);
  }
  finish();
  EXPECT_NE(complaint_line().find("size limit"), std::string::npos);
  EXPECT_LE(std::filesystem::file_size(folder.files().at(0)), options.max_file_bytes);
  EXPECT_TRUE(read_capture(folder.files().at(0)).has_end);
}

TEST_F(AgentTest, APlainExitEndsTheFileInOrder) {
  const int status = in_process([this] {
    arm_with(paused());
    open_window(-1);
    emit_ops(1'000);
  });
  EXPECT_EQ(status, 0);
  const Records records = read_capture(folder.files().at(0));
  EXPECT_EQ(records.ops.size(), 1'000U);
  EXPECT_TRUE(records.has_end);
  EXPECT_EQ(records.windows.size(), 1U);
}

TEST_F(AgentTest, AKilledProcessLeavesWhatWasWrittenWhereverItWasKilled) {
  for (int phase = 0; phase < 5; ++phase) {
    const TestFolder killed;
    const int status = in_process([&] {
      AgentOptions options = paused();
      options.directory = killed.path();
      arm_with(options);
      if (phase == 0) raise(SIGKILL);
      open_window(-1);
      if (phase == 1) raise(SIGKILL);
      emit_ops(1'000);
      // What was written a second ago is in the file by then, with nobody asking for it.
      while (phase == 2) {
        usleep(10'000);
        if (!killed.files().empty() && read_capture(killed.files()[0]).ops.size() == 1'000) raise(SIGKILL);
      }
      if (phase == 3) raise(SIGKILL);
      close_window(-1);
      raise(SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(status)) << phase;
    for (const auto& file : killed.files()) {
      int damage_count = 0;
      const Records records = read_capture(file, &damage_count);
      EXPECT_LE(damage_count, 1) << phase;  // the last chunk
      EXPECT_FALSE(records.has_end) << phase;
      if (phase == 2) {
        EXPECT_EQ(records.ops.size(), 1'000U);
      }
    }
    if (phase == 2) {
      EXPECT_EQ(killed.files().size(), 1U);
    }
  }
}

TEST_F(AgentTest, ForkedChildrenRecordNothingAndTheParentLosesNothing) {
  const int status = in_process([this] {
    arm_with(paused());
    open_window(-1);
    for (int i = 0; i < 50; ++i) {
      emit_ops(10);
      const pid_t child = fork();
      if (child == 0) {
        emit_ops(1'000);
        if (i % 2 == 0) _exit(0);
        std::exit(0);
      }
      int ended = 0;
      waitpid(child, &ended, 0);
      if (ended != 0) _exit(3);
    }
  });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(folder.files().size(), 1U);
  const Records records = read_capture(folder.files()[0]);
  EXPECT_EQ(records.ops.size(), 500U);
  EXPECT_TRUE(records.has_end);
}

TEST_F(AgentTest, ChildrenThatAreAskedForHaveFilesOfTheirOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a child that starts threads after a fork of many";
#endif
  const int status = in_process([this] {
    AgentOptions options = paused();
    options.follow_children = true;
    arm_with(options);
    open_window(-1);
    emit_ops(10);
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) {
        open_window(-1);
        emit_ops(20 + i);
        std::exit(0);
      }
    }
    while (wait(nullptr) > 0) {
    }
  });
  EXPECT_EQ(status, 0);
  std::multiset<std::size_t> counts;
  for (const auto& file : folder.files()) {
    const Records records = read_capture(file);
    counts.insert(records.ops.size());
    EXPECT_TRUE(records.has_end);
  }
  EXPECT_EQ(counts, (std::multiset<std::size_t>{10, 20, 21, 22}));
}

TEST_F(AgentTest, RanksComeFromTheLauncherAndStandInTheFilesName) {
  const int status = in_process([this] {
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_RANK", "1", 1);
    arm_with(paused());
    open_window(-1);
    emit_ops(1);
  });
  EXPECT_EQ(status, 0);
  ASSERT_EQ(folder.files().size(), 1U);
  EXPECT_NE(folder.files()[0].string().find("_rank3."), std::string::npos);
  const Records records = read_capture(folder.files()[0]);
  EXPECT_EQ(records.infos.at(0).world_size.value_or(0), 8);
  EXPECT_EQ(records.infos.at(0).local_rank.value_or(0), 1);
}

TEST_F(AgentTest, WithoutTheVariableNothingIsArmed) {
  unsetenv(kAgentOptionsVariable);
  EXPECT_FALSE(arm("cuda"));
  EXPECT_FALSE(open_window(-1));
}

TEST_F(AgentTest, OptionsThatAreNotUnderstoodDisarmAndSayWhich) {
  setenv(kAgentOptionsVariable, "speed=9", 1);
  EXPECT_FALSE(arm("cuda"));
  EXPECT_NE(complaint_line().find("speed=9"), std::string::npos);
  unsetenv(kAgentOptionsVariable);
}

TEST_F(AgentTest, ThousandsOfWindowsCostNoMemoryAndEndInOneFile) {
  ASSERT_TRUE(arm_with(paused()));
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(open_window(i));
    if (i % 100 == 0) emit_ops(1);
    ASSERT_TRUE(close_window(i));
  }
  finish();
  ASSERT_EQ(folder.files().size(), 1U);
  const Records records = read_capture(folder.files()[0]);
  EXPECT_EQ(records.ops.size(), 100U);
  EXPECT_TRUE(records.has_end);
}

TEST_F(AgentTest, AWarmUpStepIsHeardAndNotWritten) {
  const FakeTorch torch;
  ASSERT_TRUE(attach_torch_library(FakeTorch::library()));
  AgentOptions options = paused();
  options.start_paused = false;
  options.schedule = "wait=1,warmup=1,active=1,repeat=1";
  ASSERT_TRUE(arm_with(options));
  std::vector<std::size_t> callback_counts;
  for (int step = 0; step < 4; ++step) {
    FakeTorch::run(TorchScope::kUser, "ProfilerStep#" + std::to_string(step), [&] {
      callback_counts.push_back(FakeTorch::callback_count());
      FakeTorch::run(TorchScope::kFunction, "op of step " + std::to_string(step));
    });
  }
  finish();
  detach_torch();
  EXPECT_EQ(callback_counts, (std::vector<std::size_t>{1, 3, 3, 1}));
  const Records records = read_capture(folder.files().at(0));
  ASSERT_EQ(records.ops.size(), 2U);
  EXPECT_EQ(records.strings.at(records.ops[0].name), "op of step 2");
  EXPECT_EQ(records.strings.at(records.ops[1].name), "ProfilerStep#2");
}

}  // namespace
}  // namespace stepscope::agent
