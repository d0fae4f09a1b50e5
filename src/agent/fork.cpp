// A forked child (a data loader's worker, a shell command) has the parent's memory and one thread. It must not write
// into the parent's file, wait for the parent's worker or touch CUPTI: it records nothing, or has a capture of its own.
//
// The fork itself happens while our worker rests, so that the child finds no lock of an allocator or library taken by a
// thread that it does not have. Rejected: to hold all locks of ours instead; a child takes none of the parent's, and
// the ones that hang it (an allocator's) are not ours.
#include <pthread.h>

#include <array>
#include <atomic>
#include <utility>

#include "agent/agent_state.h"
#include "agent/fork_hooks.h"
#include "capture/event_ring.h"
#include "capture/names.h"
#include "capture/recorder.h"

namespace stepscope::agent {
namespace {

// Of waiting for the worker before a fork. A look takes a few milliseconds, with a chunk to compress and write some
// tens; past this the disk or the device hangs, and the program's fork must not hang with it.
constexpr DurationNs kMostWaitNs = 200'000'000;

AgentState* forking_state = nullptr;  // of the thread that forks; under its `forking`

struct JoinedHooks {
  ForkHooks hooks;
  std::atomic<bool> is_whole{false};
  bool is_called = false;  // `before` was, of this fork
};
constinit std::array<JoinedHooks, kMostForkHooks> joined;
constinit std::atomic<int> joined_count{0};

void before() {
  AgentState& agent = state();
  agent.forking.lock();
  forking_state = &agent;
  if (Worker* const worker = agent.worker.load(); worker != nullptr) (void)worker->hold(kMostWaitNs);
  for (JoinedHooks& each : joined) {
    each.is_called = each.is_whole.load(std::memory_order_acquire);
    if (each.is_called && each.hooks.before != nullptr) each.hooks.before();
  }
}

void call_hooks(void (*ForkHooks::*what)()) {
  for (auto each = joined.rbegin(); each != joined.rend(); ++each) {
    if (each->is_called && each->hooks.*what != nullptr) (each->hooks.*what)();
  }
}

void after() {
  AgentState* const agent = std::exchange(forking_state, nullptr);
  if (agent == nullptr) return;
  if (Worker* const worker = agent->worker.load(); worker != nullptr) worker->release();
  agent->forking.unlock();
}

void in_parent() {
  call_hooks(&ForkHooks::in_parent);
  after();
}
void in_child() {
  call_hooks(&ForkHooks::in_child);
  after();
  start_over_in_child();
}
}  // namespace

void join_forks(const ForkHooks& hooks) noexcept {
  const int place = joined_count.fetch_add(1);
  if (place >= kMostForkHooks) return;
  joined[place].hooks = hooks;
  joined[place].is_whole.store(true, std::memory_order_release);
}

void watch_forks() noexcept {
  // Rooms below watch forks by themselves, as they are first used: before us, for the reason in fork_hooks.h.
  (void)intern_name("");
  watch_ring_forks();
  watch_recorder_forks();
  static const int installed = pthread_atfork(before, in_parent, in_child);
  if (installed != 0) remark("the process could not say when it forks: its children may write into this capture");
}

}  // namespace stepscope::agent
