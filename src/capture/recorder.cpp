// The process's one recorder: start, stop, the list of logs, and what happens at the ends of threads and at forks.
//
// It is made when the program is loaded and never destroyed, so that threads and destructors of static objects may
// record while the process exits. Its mutex is taken when a thread joins a recording and at start and stop, never by a
// span. The end of a thread is noticed by a pthread key, since keys end after all thread-local objects of C++, whose
// destructors may hold spans.
#include "capture/recorder.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <utility>

#include "capture/agent_link.h"
#include "capture/collect.h"
#include "capture/stack.h"
#include "capture/state_bits.h"
#include "capture/thread_log.h"
#include "capture/thread_state.h"
#include "capture/tick_clock.h"

namespace stepscope {

constinit thread_local ThreadState thread_state;

namespace detail {
constinit std::atomic<std::uint64_t> recorder_state{0};
}  // namespace detail

namespace {

// The mapping of now, readable by any thread without a lock: odd while it changes.
struct SharedMapping {
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uint64_t> base_ticks{0};
  std::atomic<TimeNs> base_ns{0};
  std::atomic<std::uint64_t> ns_per_tick_q40{0};

  void set(const TickMapping& mapping) {
    const std::uint64_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    base_ticks.store(mapping.base_ticks, std::memory_order_release);
    base_ns.store(mapping.base_ns, std::memory_order_release);
    ns_per_tick_q40.store(mapping.ns_per_tick_q40, std::memory_order_release);
    version.store(before + 2, std::memory_order_release);
  }
  // False: it changed meanwhile, or there is none yet (version 0).
  bool get(TickMapping& mapping) const {
    const std::uint64_t before = version.load(std::memory_order_acquire);
    mapping.base_ticks = base_ticks.load(std::memory_order_acquire);
    mapping.base_ns = base_ns.load(std::memory_order_acquire);
    mapping.ns_per_tick_q40 = ns_per_tick_q40.load(std::memory_order_acquire);
    return before != 0 && before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
  }
};
constinit SharedMapping shared_mapping;

struct Recorder {
  std::mutex mutex;  // of all that follows, and of changes of recorder_state and shared_mapping
  std::uint64_t recording_count = 0;
  std::uint64_t log_count = 0;
  std::vector<ThreadLog*> logs;
  std::vector<ThreadLog*> abandoned;  // of threads that a forked child does not have
  std::shared_ptr<Budget> budget;
  TickMapping mapping;
  ClockPair start;
  pthread_key_t thread_end{};

  Recorder();
};

Recorder& recorder() {
  static Recorder* const one = new Recorder;
  return *one;
}
[[maybe_unused]] const Recorder& at_load = recorder();

void leave_log(ThreadState& thread) {
  if (thread.log != nullptr) thread.log->release();
  thread.recorder_state = kNoRecording;
  thread.log_number = 0;
  thread.log = nullptr;
  thread.chunk = nullptr;
  thread.at = thread.limit = nullptr;
  thread.detail_count = 0;
}

void end_thread(void*) {
  ThreadState& thread = thread_state;
  leave_log(thread);
  delete std::exchange(thread.names, nullptr);
  thread.is_over = true;
}

void before_fork() { recorder().mutex.lock(); }
void after_fork_in_parent() { recorder().mutex.unlock(); }
void after_fork_in_child() {
  Recorder& all = recorder();
  // The agent says by itself what it wants of a child.
  detail::recorder_state.fetch_and(state_bits::kAgent, std::memory_order_relaxed);
  // Nobody will write into them or let go of them any more. Freeing them would copy their pages.
  all.abandoned.insert(all.abandoned.end(), all.logs.begin(), all.logs.end());
  all.logs.clear();
  ThreadState& thread = thread_state;
  thread.log = nullptr;
  leave_log(thread);
  thread.thread_id = 0;
  all.mutex.unlock();
}

Recorder::Recorder() {
  pthread_key_create(&thread_end, end_thread);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  seek_agent_if_wanted();
}

// The recording that is on; 0: none.
std::uint64_t load_recording() { return detail::load_recorder_state() & ~state_bits::kAgent; }

NameId system_thread_name() {
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  return intern_name(name);
}

std::uint64_t flags_of(const RecorderOptions& options) {
  return state_bits::kRecords | (options.record_shapes ? state_bits::kShapes : 0) |
         (options.record_memory ? state_bits::kMemory : 0) | (options.record_stacks ? state_bits::kStacks : 0) |
         (options.record_flops ? state_bits::kFlops : 0);
}

}  // namespace

bool adopt_thread() {
  ThreadState& thread = thread_state;
  if (thread.is_over) return false;
  // Any value but nullptr makes the key's destructor run.
  if (!thread.is_adopted) thread.is_adopted = pthread_setspecific(recorder().thread_end, &thread) == 0;
  return thread.is_adopted;
}

bool attach_thread(ThreadState& thread, std::uint64_t state) {
  if (state == 0 || !adopt_thread()) return false;
  const NameId name = thread.thread_name != 0 ? NameId(std::size_t{thread.thread_name}) : system_thread_name();
  if (thread.thread_id == 0) thread.thread_id = gettid();
  leave_log(thread);

  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  if (load_recording() != state) return false;
  auto* const log = new (std::nothrow) ThreadLog(all.log_count + 1, thread.thread_id, name, all.budget);
  if (log == nullptr) return false;
  all.logs.push_back(log);
  thread.log = log;
  thread.log_number = ++all.log_count;
  thread.recorder_state = state;
  return true;
}

Status start_recorder(const RecorderOptions& options) {
  if (options.record_stacks) prepare_stacks();
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  if (load_recording() != 0) {
    return Error{
        ErrorCode::kInvalidArgument, "a recording is on in this process already; there can be one at a time", {}, {}};
  }
  all.budget = std::make_shared<Budget>();
  all.budget->max_bytes = options.max_bytes;
  all.mapping = calibrate_ticks();
  shared_mapping.set(all.mapping);
  all.start = read_monotonic_pair();
  ++all.recording_count;
  detail::recorder_state.fetch_or(all.recording_count << state_bits::kFlagBits | flags_of(options),
                                  std::memory_order_release);
  return Done{};
}

void watch_recorder_forks() { (void)recorder(); }

Result<Recording> stop_recorder() {
  Recorder& all = recorder();
  std::unique_lock lock(all.mutex);
  if (load_recording() == 0) {
    return Error{ErrorCode::kInvalidArgument, "nothing is being recorded, so there is nothing to stop", {}, {}};
  }
  detail::recorder_state.fetch_and(state_bits::kAgent, std::memory_order_release);
  const ClockPair end = read_monotonic_pair();
  const std::vector<ThreadLog*> logs = std::exchange(all.logs, {});
  const TickMapping mapping = all.mapping;
  const ClockPair start = all.start;
  all.budget.reset();
  lock.unlock();

  Recording recording;
  recording.start_ns = mapping.to_ns(start.ticks);
  recording.end_ns = mapping.to_ns(end.ticks);
  recording.clock_drift_ns = (end.clock_ns - start.clock_ns) - (recording.end_ns - recording.start_ns);
  collect_logs(logs, mapping, recording);
  for (ThreadLog* log : logs) log->release();
  return recording;
}

TickMapping recorder_clock() {
  TickMapping mapping;
  while (!shared_mapping.get(mapping)) {
    const std::lock_guard lock(recorder().mutex);
    if (shared_mapping.version.load(std::memory_order_relaxed) == 0) shared_mapping.set(calibrate_ticks());
  }
  return mapping;
}

TimeNs recorder_now_ns() {
  const TickMapping mapping = recorder_clock();
  return mapping.to_ns(read_ticks());  // after the mapping: the first one chooses what is read
}

}  // namespace stepscope
