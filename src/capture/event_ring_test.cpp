// Rings under threads that come and go, a reader that is slow, a cap, and a fork.
#include "capture/event_ring.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

constexpr std::uint64_t kCap = std::uint64_t{64} << 20;

class EventRing : public testing::Test {
 protected:
  void SetUp() override {
    set_ring_cap(kCap);
    hook_events_on = true;
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
  }
  void TearDown() override {
    hook_events_on = false;
    set_ring_cap(kCap);
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
  }
};

HookEvent numbered(std::uint64_t writer, std::uint64_t number) {
  HookEvent event;
  event.a = number;
  event.b = writer;
  return event;
}

// What was read: for each writer the next number; an event out of order is a failure.
struct Reader {
  std::map<std::uint64_t, std::uint64_t> next;
  std::uint64_t event_count = 0;
  std::uint64_t jump_count = 0;

  void drain() {
    drain_events([&](const RingThread& thread, std::span<const HookEvent> events) {
      EXPECT_NE(thread.thread_id, 0);
      for (const HookEvent& event : events) {
        jump_count += event.a < next[event.b] ? 1 : 0;
        next[event.b] = event.a + 1;
        ++event_count;
      }
    });
  }
};

TEST_F(EventRing, KeepsNothingWhileOff) {
  hook_events_on = false;
  std::thread([] { emit_event(numbered(1, 1)); }).join();
  Reader reader;
  reader.drain();
  EXPECT_EQ(reader.event_count, 0U);
}

TEST_F(EventRing, GivesEventsInTheOrderWrittenWithTheThreadsName) {
  std::string name;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "launcher");
    for (std::uint64_t i = 0; i < 10'000; ++i) emit_event(numbered(1, i));
  }).join();
  std::uint64_t expected = 0;
  drain_events([&](const RingThread& thread, std::span<const HookEvent> events) {
    name = thread.name;
    for (const HookEvent& event : events) EXPECT_EQ(event.a, expected++);
  });
  EXPECT_EQ(expected, 10'000U);
  EXPECT_EQ(name, "launcher");
}

TEST_F(EventRing, FreesTheRingsOfEndedThreads) {
  const std::uint64_t before = ring_bytes();
  for (int i = 0; i < 20; ++i) std::thread([] { emit_event(numbered(1, 0)); }).join();
  EXPECT_GT(ring_bytes(), before);
  Reader reader;
  reader.drain();
  EXPECT_EQ(reader.event_count, 20U);
  EXPECT_EQ(ring_bytes(), before);
}

TEST_F(EventRing, CountsWhatFindsNoRoomAndLosesNothingElse) {
  set_ring_cap(ring_bytes() + (256 << 10));
  const std::uint64_t dropped_before = dropped_event_count();
  std::thread writer([] {
    for (std::uint64_t i = 0; i < 100'000; ++i) emit_event(numbered(1, i));
  });
  writer.join();
  EXPECT_LE(ring_bytes(), kCap);
  Reader reader;
  reader.drain();
  const std::uint64_t dropped = dropped_event_count() - dropped_before;
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(reader.event_count + dropped, 100'000U);
  EXPECT_EQ(reader.jump_count, 0U);
}

TEST_F(EventRing, AThreadThatGetsNoRingDropsAndCounts) {
  set_ring_cap(0);
  const std::uint64_t dropped_before = dropped_event_count();
  std::thread([] { emit_event(numbered(1, 0)); }).join();
  EXPECT_EQ(dropped_event_count() - dropped_before, 1U);
}

TEST_F(EventRing, TwoHundredThreadsLoseNothingToAReaderThatKeepsReading) {
  constexpr std::uint64_t kThreads = 200, kEvents = 1'000;
  const std::uint64_t dropped_before = dropped_event_count();
  std::atomic<std::uint64_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &running] {
      for (std::uint64_t i = 0; i < kEvents; ++i) emit_event(numbered(t, i));
      --running;
    });
  }
  Reader reader;
  while (running.load() > 0) reader.drain();
  for (std::thread& thread : threads) thread.join();
  reader.drain();
  EXPECT_EQ(reader.event_count + (dropped_event_count() - dropped_before), kThreads * kEvents);
  EXPECT_EQ(dropped_event_count(), dropped_before);  // 200 x 84 KiB of segments fit the cap even unread
  EXPECT_EQ(reader.jump_count, 0U);
}

TEST_F(EventRing, AForkedChildWritesNothingUntilItAsks) {
  emit_event(numbered(7, 0));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Reader reader;
    emit_event(numbered(8, 0));
    allow_events_in_child();
    reader.drain();
    if (reader.event_count != 0) _exit(1);
    emit_event(numbered(9, 5));
    reader.drain();
    _exit(reader.event_count == 1 && reader.next[9] == 6 ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  emit_event(numbered(7, 1));
  Reader reader;
  reader.drain();
  EXPECT_EQ(reader.next[7], 2U);
}

}  // namespace
}  // namespace stepscope
