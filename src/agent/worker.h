// The agent's one thread: empties rings and CUPTI's buffers into the capture file.
//
// It sleeps without a time limit while nothing records, and looks every 50 ms (5 ms after a full look) while a window
// is open. The file is created at the first record, so a process that does nothing of interest leaves none. Everything
// that a killed process would lose is at most a second old: CUPTI is asked for its buffers and the chunk is written out
// once a second. Whatever fails stops the capture for good and is said; the program never waits.
//
// Where rings had no room, the window is written in pieces that leave out the time from look to look in which it
// happened: readers know then which steps lack records, and the others stay good.
//
// One exception: a fork waits until the worker rests (see hold), a few milliseconds at most times. An allocator that
// does not see to its locks at a fork (address sanitizer's of GCC 12; 1 child in 15 hung there) would leave the one
// that the worker was in locked in the child for good. glibc's own sees to them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/hook_writer.h"
#include "agent/ledger.h"
#include "agent/sampler.h"
#include "base/interval.h"
#include "capture/capture_file.h"
#include "wire/records.h"

namespace stepscope::agent {

struct WorkerSetup {
  std::function<Result<std::unique_ptr<CaptureFile>>()> create_file;
  std::function<CaptureInfo()> describe;
  std::function<void(CaptureFile&)> describe_devices;  // when the first GPU record was written
  std::function<void()> disarm;                        // the capture cannot go on: stop recording
  bool samples_stacks = false;                         // 1,000 times a second, of threads that say something
  DurationNs settle_limit_ns = 10'000'000'000;         // of waiting for records of launches after a window
  // What the process uses of its devices, asked when a window has opened and when it has closed; empty: not asked for.
  std::function<std::vector<WireMemoryLevel>()> sample_memory{};
};

class Worker {
 public:
  explicit Worker(WorkerSetup setup);
  ~Worker();  // only after finish() gave true, or when start() was never called
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False: no thread could be had.
  bool start() noexcept;
  void window_opened() noexcept;
  void window_closed(const WireWindow& window) noexcept;
  // Collects what is under way, writes the ledger, closes the file. False: not done within `limit_ns`; the thread is
  // left alone then and so must be this object.
  bool finish(DurationNs limit_ns) noexcept;
  // Waits for the next call, and looks at nothing until one comes.
  [[nodiscard]] bool is_asleep() const noexcept;
  // Around a fork: waits until the worker is between two looks and keeps it there until release(). Waits no longer than
  // `limit_ns`; the fork goes on then as it would have without us, and the answer is false.
  bool hold(DurationNs limit_ns) noexcept;
  void release() noexcept;  // also after a hold() that gave false
  // Writes out what there is at the next look, at most 50 ms from now, instead of within a second.
  void flush_soon() noexcept { wants_flush_.store(true, std::memory_order_relaxed); }
  // What the process is has changed (CUDA was attached): said in the file anew.
  void describe_again() noexcept { wants_description_.store(true, std::memory_order_relaxed); }

 private:
  enum class Phase : std::uint8_t { kIdle, kOpen, kSettling };

  static void* enter(void* worker) noexcept;
  void run();
  void look();
  bool hold_back(const RingThread& thread, std::span<const HookEvent> events);
  void look_at_gpu();
  void settle();
  void end_settling(bool is_complete);
  void keep_fresh();
  void write_windows();
  void note_drops();
  void write_graph_nodes();
  void write_remarks();
  void sample_memory();
  void write_memory_levels();
  void write_ledger();
  void close_file();
  CaptureFile* file();
  void check_file();
  // Sleeps until the bell rings or `limit_ns` passed; < 0: no limit.
  void wait(DurationNs limit_ns);
  void ring_bell() noexcept;

  WorkerSetup setup_;
  pthread_t thread_{};
  bool is_started_ = false;

  // Guarded by mutex_.
  mutable pthread_mutex_t mutex_;
  pthread_cond_t bell_, done_, rests_;
  Phase phase_ = Phase::kIdle;
  bool is_finishing_ = false;
  bool bell_rang_ = false;
  bool is_asleep_ = false;
  bool is_resting_ = false;  // waits for the bell or has ended: in no allocator, no file and no library
  bool is_done_ = false;
  std::vector<WireWindow> windows_;  // ended since the last look
  std::uint64_t close_count_ = 0;    // of windows
  bool wants_memory_sample_ = false;
  std::atomic<bool> wants_description_{false};
  std::atomic<bool> wants_flush_{false};

  // The thread's.
  Sampler sampler_;
  std::unique_ptr<CaptureFile> file_;
  bool file_failed_ = false;
  bool file_is_full_ = false;
  bool devices_described_ = false;
  Ledger ledger_;
  std::optional<HookWriter> hook_writer_;
  std::vector<WireWindow> ended_windows_;  // not yet in the file
  std::uint64_t settled_close_count_ = 0;  // close_count_ before the last look
  std::size_t event_count_ = 0;            // of the last look
  struct HeldEvents {
    RingThread thread;
    std::vector<HookEvent> events;
  };
  std::vector<HeldEvents> held_back_;           // nothing but overhead of ours, not yet in the file
  std::vector<WireMemoryLevel> memory_levels_;  // not yet in the file, since there is none
  // Events that found no room in a ring: how many up to the last look, when that was, and the times from look to look
  // in which there were more.
  const std::uint64_t dropped_before_count_;  // by captures before this one
  std::uint64_t dropped_count_;
  TimeNs looked_at_ns_;
  std::vector<Interval> drops_;
  std::size_t remark_count_ = 0;
  DurationNs fresh_at_ns_ = 0;
  DurationNs settle_until_ns_ = 0;
  std::uint64_t record_count_at_flush_ = 0;
};

}  // namespace stepscope::agent
