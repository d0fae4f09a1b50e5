// The worker's loop. Waiting is done with pthread's own condition variable on CLOCK_MONOTONIC: the standard one waits
// by calls that thread sanitizers of GCC 12 do not know.
#include "agent/worker.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "agent/gpu.h"
#include "agent/parts.h"
#include "agent/remarks.h"

namespace stepscope::agent {
namespace {

constexpr DurationNs kSecond = 1'000'000'000;
constexpr DurationNs kLookEvery = 50'000'000;
constexpr DurationNs kLookSoon = 5'000'000;
// A look that found more than this came too late: rings start with 72 events and grow with what waits in them.
constexpr std::size_t kManyEvents = 2'000;

DurationNs monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return DurationNs{now.tv_sec} * kSecond + now.tv_nsec;
}

timespec at(DurationNs ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }

// The window without the times in which events were lost. The last piece may be empty: it ends the gap before it.
void write_pieces(CaptureFile& file, const WireWindow& window, const std::vector<Interval>& drops) {
  WireWindow piece = window;
  for (const Interval& drop : drops) {
    if (drop.end_ns <= piece.start_ns || drop.start_ns >= window.end_ns) continue;
    piece.end_ns = std::max(drop.start_ns, piece.start_ns);
    piece.last_step = -1;
    file.on(piece);
    piece = window;
    piece.start_ns = std::min(drop.end_ns, window.end_ns);
    piece.first_step = -1;
  }
  file.on(piece);
}

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

Worker::Worker(WorkerSetup setup)
    : setup_(std::move(setup)),
      dropped_before_count_(dropped_event_count() + dropped_graph_node_count()),
      dropped_count_(dropped_event_count()),
      looked_at_ns_(now_ns()) {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&bell_, &attributes);
  pthread_cond_init(&done_, &attributes);
  pthread_cond_init(&rests_, &attributes);
  pthread_condattr_destroy(&attributes);
}

Worker::~Worker() {
  pthread_cond_destroy(&rests_);
  pthread_cond_destroy(&done_);
  pthread_cond_destroy(&bell_);
  pthread_mutex_destroy(&mutex_);
}

bool Worker::start() noexcept {
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  is_started_ = pthread_create(&thread_, nullptr, enter, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started_) pthread_setname_np(thread_, "stepscope");
  return is_started_;
}

void* Worker::enter(void* worker) noexcept {
  auto& self = *static_cast<Worker*>(worker);
  try {
    self.run();
  } catch (...) {
    complain("the capture stopped: the process is out of memory");
    self.setup_.disarm();
  }
  const Lock lock(self.mutex_);
  self.is_done_ = self.is_resting_ = true;
  pthread_cond_broadcast(&self.rests_);
  pthread_cond_broadcast(&self.done_);
  return nullptr;
}

void Worker::ring_bell() noexcept {
  bell_rang_ = true;
  pthread_cond_signal(&bell_);
}

void Worker::wait(DurationNs limit_ns) {
  const Lock lock(mutex_);
  const timespec until = at(monotonic_ns() + limit_ns);
  is_asleep_ = limit_ns < 0;
  is_resting_ = true;
  pthread_cond_broadcast(&rests_);
  while (!bell_rang_) {
    if (limit_ns < 0) {
      pthread_cond_wait(&bell_, &mutex_);
    } else if (pthread_cond_timedwait(&bell_, &mutex_, &until) != 0) {
      break;
    }
  }
  bell_rang_ = is_asleep_ = is_resting_ = false;
}

bool Worker::is_asleep() const noexcept {
  const Lock lock(mutex_);
  return is_asleep_ && !bell_rang_;
}

bool Worker::hold(DurationNs limit_ns) noexcept {
  pthread_mutex_lock(&mutex_);
  const timespec until = at(monotonic_ns() + limit_ns);
  while (!is_resting_) {
    if (pthread_cond_timedwait(&rests_, &mutex_, &until) != 0) return is_resting_;
  }
  return true;
}

void Worker::release() noexcept { pthread_mutex_unlock(&mutex_); }

void Worker::window_opened() noexcept {
  if (setup_.samples_stacks) {
    // A window of three steps may be over before its first events are drained: the thread that ends steps is looked at
    // from the start, the others once they were heard.
    if (python_stack_now() != 0) sampler_.note_thread(gettid());
    sampler_.set_on(true);
  }
  const Lock lock(mutex_);
  phase_ = Phase::kOpen;
  wants_memory_sample_ = true;
  ring_bell();
}

void Worker::window_closed(const WireWindow& window) noexcept {
  if (setup_.samples_stacks) sampler_.set_on(false);
  const Lock lock(mutex_);
  try {
    windows_.push_back(window);
  } catch (...) {
    // Its bounds are lost, its records are not.
  }
  phase_ = Phase::kSettling;
  ++close_count_;
  wants_memory_sample_ = true;
  settle_until_ns_ = monotonic_ns() + setup_.settle_limit_ns;
  ring_bell();
}

bool Worker::finish(DurationNs limit_ns) noexcept {
  if (!is_started_) return true;
  sampler_.stop();
  {
    const Lock lock(mutex_);
    is_finishing_ = true;
    ring_bell();
    const timespec until = at(monotonic_ns() + limit_ns);
    while (!is_done_) {
      if (pthread_cond_timedwait(&done_, &mutex_, &until) != 0) break;
    }
    if (!is_done_) return false;
  }
  pthread_join(thread_, nullptr);
  return true;
}

void Worker::run() {
  DurationNs next_wait = -1;
  while (true) {
    wait(next_wait);
    Phase phase;
    bool is_finishing;
    bool wants_memory_sample;
    {
      const Lock lock(mutex_);
      phase = phase_;
      settled_close_count_ = close_count_;
      is_finishing = is_finishing_;
      wants_memory_sample = std::exchange(wants_memory_sample_, false);
      // Before the look, which finds all that happened in them.
      ended_windows_.insert(ended_windows_.end(), windows_.begin(), windows_.end());
      windows_.clear();
    }
    // Before the look: settling after it may take long, and this is of the window's edge.
    if (wants_memory_sample) sample_memory();
    look();
    write_windows();
    if (phase == Phase::kSettling) {
      settle();
      next_wait = kLookSoon;
    } else if (is_finishing) {
      break;
    } else if (phase == Phase::kOpen) {
      keep_fresh();
      next_wait = event_count_ > kManyEvents ? kLookSoon : kLookEvery;
    } else {
      next_wait = -1;
    }
  }
  close_file();
}

CaptureFile* Worker::file() {
  if (file_ != nullptr || file_failed_) return file_.get();
  // Before it is described: what changes meanwhile is said anew.
  (void)wants_description_.exchange(false);
  Result<std::unique_ptr<CaptureFile>> made = setup_.create_file();
  if (!made) {
    file_failed_ = true;
    complain("no capture: " + made.error().to_string());
    setup_.disarm();
    return nullptr;
  }
  file_ = std::move(made.value());
  hook_writer_.emplace(*file_, ledger_);
  return file_.get();
}

// Asked before the rings are emptied: what is lost from here on belongs to the next look.
void Worker::note_drops() {
  const TimeNs asked_at_ns = now_ns();
  const std::uint64_t count = dropped_event_count();
  if (count > dropped_count_) {
    if (!drops_.empty() && drops_.back().end_ns >= looked_at_ns_) {
      drops_.back().end_ns = now_ns();
    } else {
      drops_.push_back({looked_at_ns_, now_ns()});
    }
  }
  dropped_count_ = count;
  looked_at_ns_ = asked_at_ns;
}

void Worker::look() {
  note_drops();
  event_count_ = 0;
  drain_events([this](const RingThread& thread, std::span<const HookEvent> events) {
    event_count_ += events.size();
    if (file_ == nullptr && hold_back(thread, events)) return;
    if (file() != nullptr) {
      for (const HeldEvents& held : std::exchange(held_back_, {})) hook_writer_->write(held.thread, held.events);
      hook_writer_->write(thread, events);
    }
    if (setup_.samples_stacks && events.front().kind != HookEventKind::kSample) sampler_.note_thread(thread.thread_id);
  });
  look_at_gpu();
  if (file_ == nullptr) return;
  if (wants_description_.exchange(false, std::memory_order_relaxed) && setup_.describe) file_->on(setup_.describe());
  write_graph_nodes();
  write_memory_levels();
  write_remarks();
  check_file();
}

// True: these make no file, since they tell of nothing but us.
bool Worker::hold_back(const RingThread& thread, std::span<const HookEvent> events) {
  constexpr std::size_t kMost = 64;  // one for each window; a process that does nothing has few
  const bool is_ours = std::all_of(events.begin(), events.end(),
                                   [](const HookEvent& event) { return event.kind == HookEventKind::kOverhead; });
  if (is_ours && held_back_.size() < kMost) held_back_.push_back({thread, {events.begin(), events.end()}});
  return is_ours;
}

void Worker::look_at_gpu() {
  Gpu* const gpu = attached_gpu();
  if (gpu == nullptr || !gpu->has_full_buffers() || file() == nullptr) return;
  gpu->drain(*file_, ledger_);
  if (devices_described_) return;
  devices_described_ = true;
  if (setup_.describe_devices) setup_.describe_devices(*file_);
}

void Worker::settle() {
  Gpu* const gpu = attached_gpu();
  if (gpu == nullptr) return end_settling(true);
  gpu->flush(false);
  look();
  if (ledger_.outstanding_count() == 0) {
    // Copies and synchronizations that ended with the last kernel: asked for once more.
    gpu->flush(false);
    look();
    return end_settling(true);
  }
  DurationNs until;
  {
    const Lock lock(mutex_);
    until = settle_until_ns_;
  }
  if (monotonic_ns() < until) return;
  gpu->flush(true);
  look();
  end_settling(ledger_.outstanding_count() == 0);
}

void Worker::end_settling(bool is_complete) {
  if (!is_complete) {
    complain("the capture's end is incomplete: " + std::to_string(ledger_.outstanding_count()) +
             " launches had no record from the device in time");
  }
  {
    const Lock lock(mutex_);
    // Not where another window has come and gone meanwhile: that one has not settled.
    if (phase_ == Phase::kSettling && close_count_ == settled_close_count_) phase_ = Phase::kIdle;
    // Straight on to the end, or to sleep.
    bell_rang_ = true;
  }
  write_windows();
  ended_windows_.clear();
  ledger_.settle();
  write_ledger();
  if (file_ != nullptr) (void)file_->flush();
}

void Worker::keep_fresh() {
  const DurationNs now = monotonic_ns();
  if (!wants_flush_.exchange(false, std::memory_order_relaxed) && now < fresh_at_ns_) return;
  fresh_at_ns_ = now + kSecond;
  if (Gpu* const gpu = attached_gpu(); gpu != nullptr && gpu->is_started()) {
    gpu->flush(false);
    look_at_gpu();
  }
  if (file_ == nullptr || file_->record_count() == record_count_at_flush_) return;
  write_ledger();
  (void)file_->flush();
  record_count_at_flush_ = file_->record_count();
}

// A window in which nothing happened makes no file of its own. Until it has settled its records may still come, so it
// waits for the file that they make.
void Worker::write_windows() {
  if (file_ == nullptr) return;
  for (const WireWindow& window : std::exchange(ended_windows_, {})) {
    write_pieces(*file_, window, drops_);
    std::erase_if(drops_, [&](const Interval& drop) { return drop.start_ns < window.end_ns; });
  }
}

void Worker::write_graph_nodes() {
  for (const GraphNodeOrigin& node : take_graph_nodes()) {
    file_->on(WireGraphNode{static_cast<std::int64_t>(node.node), hook_writer_->name_of(node.op),
                            hook_writer_->stack_of(node.stack)});
  }
}

void Worker::sample_memory() {
  if (!setup_.sample_memory) return;
  for (const WireMemoryLevel& level : setup_.sample_memory()) memory_levels_.push_back(level);
}

void Worker::write_memory_levels() {
  for (const WireMemoryLevel& level : std::exchange(memory_levels_, {})) file_->on(level);
}

void Worker::write_remarks() {
  for (const Remark& remark : remarks_from(remark_count_)) {
    ++remark_count_;
    file_->on(WireRemark{remark.time_ns, file_->intern(remark.text)});
  }
}

void Worker::write_ledger() {
  if (file_ == nullptr) return;
  ledger_.set_dropped_host(dropped_event_count() + dropped_graph_node_count() - dropped_before_count_);
  ledger_.write(*file_);
}

void Worker::check_file() {
  if (file_is_full_ || file_failed_) return;
  if (const Status status = file_->status(); !status) {
    file_failed_ = true;
    complain("the capture stopped: " + status.error().to_string());
    setup_.disarm();
  } else if (file_->dropped_record_count() > 0) {
    file_is_full_ = true;
    complain("the capture stopped at its size limit");
    setup_.disarm();
  }
}

void Worker::close_file() {
  if (Gpu* const gpu = attached_gpu(); gpu != nullptr && file_ != nullptr) {
    // The process ends: what is still with CUPTI comes now or never.
    gpu->flush(true);
    look_at_gpu();
  }
  if (file_ == nullptr) return;
  ledger_.settle();
  write_ledger();
  write_remarks();
  if (const Status status = file_->close(now_ns()); !status && !file_failed_) {
    complain("the capture is cut short: " + status.error().to_string());
  }
}

}  // namespace stepscope::agent
