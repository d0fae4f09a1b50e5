// The worker around a fork; what it writes is tested through the agent (agent_test.cpp, bridge_test.cpp).
#include "agent/worker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "agent/capture_test_support.h"
#include "agent/parts.h"
#include "agent/remarks.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr DurationNs kMinute = 60'000'000'000;

// Creating the file is the longest thing a worker does; here it lasts until the test says so.
class HeldWorkerTest : public testing::Test {
 protected:
  void SetUp() override { drop_events(); }
  void TearDown() override {
    may_go_on = true;
    hook_events_on.store(false);
    EXPECT_TRUE(worker.finish(kMinute));
    drop_events();
    reset_remarks();
  }
  static void drop_events() {
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
  }
  void begin_work() {
    ASSERT_TRUE(worker.start());
    hook_events_on.store(true);
    emit_event(HookEvent{});
    worker.window_opened();
    while (!is_busy) usleep(100);
  }

  std::atomic<bool> is_busy{false};
  std::atomic<bool> may_go_on{false};
  Worker worker{{.create_file = [this]() -> Result<std::unique_ptr<CaptureFile>> {
                   is_busy = true;
                   while (!may_go_on) usleep(100);
                   is_busy = false;
                   return Error{ErrorCode::kIo, "no file in this test", {}, {}};
                 },
                 .describe = {},
                 .describe_devices = {},
                 .disarm = [] {}}};
};

TEST_F(HeldWorkerTest, AForkWaitsForAWorkerThatIsInTheMiddleOfSomething) {
  begin_work();
  may_go_on = true;
  ASSERT_TRUE(worker.hold(kMinute));
  EXPECT_FALSE(is_busy);
  worker.release();
}

TEST_F(HeldWorkerTest, AForkDoesNotWaitForADiskThatHangs) {
  begin_work();
  EXPECT_FALSE(worker.hold(1'000'000));
  worker.release();
  EXPECT_TRUE(is_busy);
}

TEST_F(HeldWorkerTest, AWorkerThatHasJustBeenStartedIsWaitedForToo) {
  for (int round = 0; round < 100; ++round) {
    Worker fresh{{.create_file = {}, .describe = {}, .describe_devices = {}, .disarm = [] {}}};
    ASSERT_TRUE(fresh.start());
    ASSERT_TRUE(fresh.hold(kMinute)) << round;
    fresh.release();
    ASSERT_TRUE(fresh.finish(kMinute));
    EXPECT_TRUE(fresh.hold(0)) << "one that has ended is in nobody's way";
    fresh.release();
  }
}

TEST_F(HeldWorkerTest, NothingIsWrittenBetweenHoldAndRelease) {
  ASSERT_TRUE(worker.start());
  ASSERT_TRUE(worker.hold(kMinute));
  hook_events_on.store(true);
  emit_event(HookEvent{});
  std::thread opener([&] { worker.window_opened(); });
  usleep(5'000);
  EXPECT_FALSE(is_busy);
  worker.release();
  opener.join();
  while (!is_busy) usleep(100);
}

// What the process uses is asked at both edges of a window, and in the file once there is one.
TEST(WorkerMemory, IsSampledAtTheEdgesOfAWindow) {
  drain_events([](const RingThread&, std::span<const HookEvent>) {});
  std::atomic<int> sample_count{0};
  std::vector<WireMemoryLevel> levels;
  class Kept : public MemoryCapture {
   public:
    explicit Kept(std::vector<WireMemoryLevel>& into) : into_(into) {}
    using MemoryCapture::on;
    void on(const WireMemoryLevel& level) override { into_.push_back(level); }

   private:
    std::vector<WireMemoryLevel>& into_;
  };
  Worker worker{{.create_file = [&]() -> Result<std::unique_ptr<CaptureFile>> {
                   return std::unique_ptr<CaptureFile>(std::make_unique<Kept>(levels));
                 },
                 .describe = {},
                 .describe_devices = {},
                 .disarm = [] {},
                 .sample_memory =
                     [&] {
                       WireMemoryLevel level;
                       level.process_bytes = ++sample_count;
                       return std::vector<WireMemoryLevel>{level};
                     }}};
  ASSERT_TRUE(worker.start());
  hook_events_on.store(true);
  worker.window_opened();
  while (sample_count < 1) usleep(100);
  emit_event(HookEvent{});
  hook_events_on.store(false);
  worker.window_closed({});
  EXPECT_TRUE(worker.finish(kMinute));
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].process_bytes, MaybeInt(1));
  EXPECT_EQ(levels[1].process_bytes, MaybeInt(2));
}

// The ring is full while the file is made; the time in which that was so is in no piece of the window.
TEST(WorkerDrops, LeaveOutTheTimeInWhichEventsFoundNoRoom) {
  drain_events([](const RingThread&, std::span<const HookEvent>) {});
  std::atomic<bool> is_busy{false}, may_go_on{false};
  std::vector<WireWindow> windows;
  WireLedger ledger;
  class Kept : public MemoryCapture {
   public:
    Kept(std::vector<WireWindow>& windows, WireLedger& ledger) : windows_(windows), ledger_(ledger) {}
    using MemoryCapture::on;
    void on(const WireWindow& window) override { windows_.push_back(window); }
    void on(const WireLedger& ledger) override { ledger_ = ledger; }

   private:
    std::vector<WireWindow>& windows_;
    WireLedger& ledger_;
  };
  Worker worker{{.create_file = [&]() -> Result<std::unique_ptr<CaptureFile>> {
                   is_busy = true;
                   while (!may_go_on) usleep(100);
                   return std::unique_ptr<CaptureFile>(std::make_unique<Kept>(windows, ledger));
                 },
                 .describe = {},
                 .describe_devices = {},
                 .disarm = [] {}}};
  const TimeNs start_ns = now_ns();
  ASSERT_TRUE(worker.start());
  hook_events_on.store(true);
  emit_event(HookEvent{});
  worker.window_opened();
  while (!is_busy) usleep(100);
  const TimeNs full_ns = now_ns();
  set_ring_cap(0);
  std::thread([] { emit_event(HookEvent{}); }).join();  // one that has no ring yet
  const TimeNs room_ns = now_ns();
  set_ring_cap(1 << 20);
  may_go_on = true;
  while (!worker.hold(kMinute)) {
  }
  worker.release();
  hook_events_on.store(false);
  const TimeNs end_ns = now_ns();
  worker.window_closed({start_ns, end_ns, 3, 9});
  ASSERT_TRUE(worker.finish(kMinute));
  EXPECT_GT(ledger.dropped_host_count, 0U);
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].start_ns, start_ns);
  EXPECT_LE(windows[0].end_ns, full_ns);
  EXPECT_GE(windows[1].start_ns, room_ns);
  EXPECT_EQ(windows[1].end_ns, end_ns);
  EXPECT_EQ((std::vector{windows[0].first_step, windows[0].last_step, windows[1].first_step, windows[1].last_step}),
            (std::vector<std::int64_t>{3, -1, -1, 9}));
}

}  // namespace
}  // namespace stepscope::agent
