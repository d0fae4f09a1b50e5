// The recorder under many threads: those that come and go, that write while it stops, that outlive it, that fork.
#include "capture/recorder.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "capture/recording_test_support.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

// Joined also when a check ends the test early.
struct Threads {
  std::atomic<bool> stop{false};
  std::vector<std::thread> list;
  ~Threads() {
    stop = true;
    for (std::thread& thread : list) thread.join();
  }
};

TEST(Recorder, OneAtATime) {
  const auto early = stop_recorder();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kInvalidArgument);
  TestRecording recording;
  const auto second = start_recorder({});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(is_recording());
  (void)recording.stop();
  EXPECT_FALSE(is_recording());
}

TEST(Recorder, KeepsThreadsThatEnded) {
  TestRecording recording;
  std::thread([] {
    set_thread_name("worker \"one\"");
    const Span span("in a thread");
  }).join();
  std::thread([] {
    pthread_setname_np(pthread_self(), "from system");
    const Span span("in a thread");
  }).join();
  std::thread([] {
    { const Span span("in a thread"); }
    set_thread_name("named later");
  }).join();
  const Recording got = recording.stop();
  expect_sound(got);
  ASSERT_EQ(got.threads.size(), 3U);
  EXPECT_EQ(got.threads[0].thread_name, "worker \"one\"");
  EXPECT_EQ(got.threads[1].thread_name, "from system");
  EXPECT_EQ(got.threads[2].thread_name, "named later");
  EXPECT_EQ(got.open_span_count, 0U);
}

TEST(Recorder, AThreadKeepsItsNameForLaterRecordings) {
  std::thread([] {
    set_thread_name("loader");
    for (int i = 0; i < 2; ++i) {
      TestRecording recording;
      { const Span span("work"); }
      EXPECT_EQ(recording.stop().threads.at(0).thread_name, "loader");
    }
  }).join();
}

TEST(Recorder, TwoHundredThreads) {
  constexpr int kThreads = 200, kSpans = 300;
  TestRecording recording;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      const std::string own = "thread " + std::to_string(t);
      for (int i = 0; i < kSpans; ++i) {
        const Span outer(own);
        STEPSCOPE_SPAN("shared");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Recording got = recording.stop();
  expect_sound(got);
  ASSERT_EQ(got.threads.size(), std::size_t{kThreads});
  for (const ThreadRecords& thread : got.threads) {
    ASSERT_EQ(thread.records.size(), std::size_t{2 * kSpans});
    const NameId own = thread.records[1].name;
    for (std::size_t i = 0; i < thread.records.size(); i += 2) {
      ASSERT_EQ(name_text(thread.records[i].name), "shared");
      ASSERT_EQ(thread.records[i + 1].name, own);
    }
  }
  EXPECT_EQ(dropped_count(got) + got.open_span_count, 0U);
}

TEST(Recorder, StartsAndStopsTenThousandTimes) {
  for (int i = 0; i < 10'000; ++i) {
    TestRecording recording;
    const Span open("open");
    { const Span span("work"); }
    const Recording got = recording.stop();
    ASSERT_EQ(record_count(got), 1U);
    ASSERT_EQ(got.open_span_count, 1U);
  }
}

// Whatever instant the stop comes at, each recording is whole in itself: records in order, within it, no strangers.
TEST(Recorder, StopsWhileThreadsWrite) {
  Threads threads;
  for (int t = 0; t < 4; ++t) {
    threads.list.emplace_back([&stop = threads.stop, t] {
      const std::string name = "writer " + std::to_string(t);
      while (!stop.load(std::memory_order_relaxed)) {
        const Span outer(name);
        const OpSpan op("op", {{t, 2}, {3}});
        STEPSCOPE_SPAN("inner");
        record_counter("counter", t);
        end_async(begin_async("async"));
        set_thread_name(name);
      }
    });
  }
  std::uint64_t total = 0;
  for (int i = 0; i < 50; ++i) {
    // Small, since a busy machine may keep the stop waiting for long.
    TestRecording recording({.max_bytes = std::size_t{1} << 20, .record_shapes = true});
    ASSERT_TRUE(recording.is_on());
    for (int s = 0; s < 20; ++s) const Span own("own");
    std::this_thread::yield();
    const Recording got = recording.stop();
    expect_sound(got);
    // A thread has at most three spans and one asynchronous one open.
    ASSERT_LE(got.open_span_count, 16U);
    total += record_count(got);
    for (const ThreadRecords& thread : got.threads) {
      std::size_t begun = 0, ended = 0;
      for (const Record& record : thread.records) {
        begun += record.kind == RecordKind::kAsyncBegin;
        ended += record.kind == RecordKind::kAsyncEnd;
        if (record.kind == RecordKind::kOp) {
          ASSERT_GT(record.detail, 0U);  // one without room is not followed by its record, which has none either
          ASSERT_EQ(thread.details[record.detail - 1].shapes.substr(3), ", 2], [3]]");
        }
      }
      ASSERT_EQ(begun, ended);
    }
  }
  EXPECT_GE(total, 50U * 20U);
}

TEST(Recorder, ThreadsEndWhileItStops) {
  for (int i = 0; i < 100; ++i) {
    TestRecording recording;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([] { const Span span("short"); });
    const Recording got = recording.stop();
    expect_sound(got);
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Recorder, CountsWhatDoesNotFit) {
  for (const std::size_t max_bytes : {0, 1000, 5000, 100'000}) {
    TestRecording recording({.max_bytes = max_bytes, .record_shapes = true});
    for (int i = 0; i < 10'000; ++i) {
      const Span span("span");
      const OpSpan op("op", {{1}});
      record_counter("counter", i);
    }
    const Span open("open");
    const Recording got = recording.stop();
    expect_sound(got);
    // Each loop writes three records and one detail.
    std::uint64_t details = 0;
    for (const ThreadRecords& thread : got.threads) details += thread.details.size();
    EXPECT_EQ(record_count(got) + details + dropped_count(got), 40'000U) << max_bytes;
    EXPECT_GT(dropped_count(got), 0U);
    EXPECT_LE(record_count(got) * 24, max_bytes);
    EXPECT_EQ(got.open_span_count, 1U);
  }
  TestRecording after;
  { const Span span("span"); }
  EXPECT_EQ(record_count(after.stop()), 1U);
}

TEST(Recorder, ThreadsShareTheCap) {
  constexpr std::size_t kMaxBytes = 300'000;
  TestRecording recording({.max_bytes = kMaxBytes});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 5000; ++i) const Span span("span");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Recording got = recording.stop();
  EXPECT_EQ(record_count(got) + dropped_count(got), 40'000U);
  EXPECT_LE(record_count(got) * 24, kMaxBytes);
}

TEST(Async, JoinsThreads) {
  TestRecording recording;
  const AsyncToken token = begin_async("request");
  const AsyncToken other = begin_async("request");
  std::thread([&] { end_async(token); }).join();
  end_async(other);
  const Recording got = recording.stop();
  expect_sound(got);
  ASSERT_EQ(got.threads.size(), 2U);
  ASSERT_EQ(got.threads[0].records.size(), 3U);
  ASSERT_EQ(got.threads[1].records.size(), 1U);
  const Record& begin = got.threads[0].records[0];
  const Record& end = got.threads[1].records[0];
  EXPECT_EQ(begin.kind, RecordKind::kAsyncBegin);
  EXPECT_EQ(end.kind, RecordKind::kAsyncEnd);
  EXPECT_EQ(begin.value, end.value);
  EXPECT_NE(begin.value, got.threads[0].records[1].value);
  EXPECT_EQ(name_text(end.name), "request");
  EXPECT_LE(begin.start_ns, end.start_ns);
}

TEST(Async, LeavesOutWhatHasNoEnd) {
  TestRecording first;
  const AsyncToken open = begin_async("open");
  const AsyncToken twice = begin_async("twice");
  end_async(twice);
  end_async(twice);
  end_async(AsyncToken{});
  const Recording got = first.stop();
  EXPECT_EQ(record_count(got), 2U);
  EXPECT_EQ(got.open_span_count, 1U);

  TestRecording second;
  end_async(open);
  const Recording later = second.stop();
  EXPECT_EQ(record_count(later), 0U);
  EXPECT_EQ(later.open_span_count, 0U);
}

struct SpanAtThreadEnd {
  ~SpanAtThreadEnd() { const Span span("at the end of the thread"); }
};

TEST(Recorder, DestructorsOfThreadsMayRecord) {
  TestRecording recording;
  std::thread([] {
    thread_local SpanAtThreadEnd at_end;
    (void)&at_end;
    const Span span("in the thread");
  }).join();
  const Recording got = recording.stop();
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]), "in the thread at the end of the thread");
}

// Keys made after the recorder's end after it: there is no buffer any more.
TEST(Recorder, LateDestructorsOfThreadsDoNoHarm) {
  static pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void*) {
                                 const Span span("too late");
                                 set_thread_name("too late");
                               }),
            0);
  TestRecording recording;
  std::thread([] {
    pthread_setspecific(key, &key);
    const Span span("in the thread");
  }).join();
  const Recording got = recording.stop();
  pthread_key_delete(key);
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]), "in the thread");
}

// Runs `in_child` in a forked child; whether it returned true in time.
template <class Function>
bool holds_in_child(Function in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a deadlock ends the child
    _exit(in_child() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Fork, TheChildDoesNotRecordUnlessItStarts) {
  TestRecording recording;
  { const Span span("before"); }
  auto open = std::make_unique<Span>("open at the fork");
  EXPECT_TRUE(holds_in_child([&] {
    if (is_recording()) return false;
    { const Span span("in the child, off"); }
    open.reset();
    if (stop_recorder().has_value() || !start_recorder({}).has_value()) return false;
    { const Span span("in the child"); }
    const auto got = stop_recorder();
    return got && got->threads.size() == 1 && names_of(got->threads[0]) == "in the child" &&
           got->threads[0].thread_id == getpid() && got->open_span_count == 0;
  }));
  EXPECT_TRUE(is_recording());
  open.reset();
  const Recording got = recording.stop();
  ASSERT_EQ(got.threads.size(), 1U);
  EXPECT_EQ(names_of(got.threads[0]), "before open at the fork");
}

// Others hold locks of the recorder at any instant; the child must not wait for them.
TEST(Fork, WhileThreadsWriteAndTheRecorderStartsAndStops) {
  Threads threads;
  threads.list.emplace_back([&stop = threads.stop] {
    while (!stop) {
      TestRecording recording;
      std::this_thread::yield();
    }
  });
  for (int t = 0; t < 2; ++t) {
    threads.list.emplace_back([&stop = threads.stop, t] {
      for (int i = 0; !stop; ++i) const Span span("new name " + std::to_string(t) + std::to_string(i % 1000));
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(holds_in_child([&] {
      if (!start_recorder({}).has_value()) return false;
      { const Span span("child " + std::to_string(i)); }
      const auto got = stop_recorder();
      return got && record_count(*got) == 1;
    }));
  }
}

// exit() destroys static objects and ends the process while other threads go on.
TEST(ProcessExit, WhileThreadsRecord) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static struct AtExit {
          ~AtExit() {
            { const Span span("in a static destructor"); }
            const auto got = stop_recorder();
            if (!got || record_count(*got) == 0) _exit(1);
          }
        } at_exit;
        if (!start_recorder({}).has_value()) _exit(2);
        for (int t = 0; t < 3; ++t) {
          std::thread([] {
            for (;;) const Span span("never ends");
          }).detach();
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stepscope
