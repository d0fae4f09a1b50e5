// The sampling thread: a nap of a millisecond, a look at each known thread, and sleep without limit between windows.
#include "agent/sampler.h"

#include <algorithm>
#include <csignal>
#include <ctime>

#include "agent/parts.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr long kNapNs = 1'000'000;
// More launching threads than any training loop has; each look at one costs some 15 us of the sampler's core.
constexpr std::size_t kMostThreads = 16;
// A thread that shows no stack for a second runs no Python (autograd's own) or is gone.
constexpr int kMostEmptyLooks = 1'000;

}  // namespace

void Sampler::note_thread(std::int64_t thread_id) {
  if (last_noted_.exchange(thread_id, std::memory_order_relaxed) == thread_id) return;
  pthread_mutex_lock(&mutex_);
  const bool is_known =
      std::any_of(threads_.begin(), threads_.end(), [&](const Thread& thread) { return thread.id == thread_id; });
  if (!is_known && threads_.size() < kMostThreads) threads_.push_back({thread_id, 0});
  pthread_mutex_unlock(&mutex_);
}

void Sampler::set_on(bool is_on) noexcept {
  pthread_mutex_lock(&mutex_);
  is_on_ = is_on;
  if (is_on && !is_started_ && !is_ending_) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started_ = pthread_create(&thread_, nullptr, enter, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (is_started_) pthread_setname_np(thread_, "stepscope-look");
  }
  pthread_cond_signal(&changed_);
  pthread_mutex_unlock(&mutex_);
}

void Sampler::stop() noexcept {
  pthread_mutex_lock(&mutex_);
  is_ending_ = true;
  is_on_ = false;
  const bool is_running = is_started_;
  is_started_ = false;
  pthread_cond_signal(&changed_);
  pthread_mutex_unlock(&mutex_);
  if (is_running) pthread_join(thread_, nullptr);
}

void* Sampler::enter(void* sampler) noexcept {
  try {
    static_cast<Sampler*>(sampler)->run();
  } catch (...) {
    remark("the sampler of Python stacks stopped: the process is out of memory");
  }
  return nullptr;
}

void Sampler::run() {
  while (true) {
    pthread_mutex_lock(&mutex_);
    while (!is_on_ && !is_ending_) pthread_cond_wait(&changed_, &mutex_);
    const bool is_ending = is_ending_;
    pthread_mutex_unlock(&mutex_);
    if (is_ending) return;
    look();
    const timespec nap{0, kNapNs};
    nanosleep(&nap, nullptr);
  }
}

void Sampler::look() {
  pthread_mutex_lock(&mutex_);
  std::vector<Thread> threads = threads_;
  pthread_mutex_unlock(&mutex_);
  // Without the lock: a stack seen for the first time has its names copied, which takes a while.
  for (Thread& thread : threads) {
    HookEvent event;
    event.kind = HookEventKind::kSample;
    event.start_ns = event.end_ns = now_ns();
    event.stack = python_stack_of(thread.id);
    event.a = static_cast<std::uint64_t>(thread.id);
    thread.empty_count = event.stack == 0 ? thread.empty_count + 1 : 0;
    if (event.stack != 0) emit_event(event);
  }
  pthread_mutex_lock(&mutex_);
  for (Thread& known : threads_) {
    const auto looked =
        std::find_if(threads.begin(), threads.end(), [&](const Thread& thread) { return thread.id == known.id; });
    if (looked != threads.end()) known.empty_count = looked->empty_count;
  }
  std::erase_if(threads_, [](const Thread& thread) { return thread.empty_count > kMostEmptyLooks; });
  pthread_mutex_unlock(&mutex_);
}

}  // namespace stepscope::agent
