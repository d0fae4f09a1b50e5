// A forked child (a data loader's worker, a shell command) has the parent's memory and one thread. It must not write
// into the parent's file, wait for the parent's worker or touch CUPTI: it records nothing, or has a capture of its own.
//
// The fork itself happens while our worker rests, so that the child finds no lock of an allocator or library taken by a
// thread that it does not have. Rejected: to hold all locks of ours instead; a child takes none of the parent's, and
// the ones that hang it (an allocator's) are not ours.
#include <pthread.h>

#include <utility>

#include "agent/agent_state.h"

namespace stepscope::agent {
namespace {

// Of waiting for the worker before a fork. A look takes a few milliseconds, with a chunk to compress and write some
// tens; past this the disk or the device hangs, and the program's fork must not hang with it.
constexpr DurationNs kMostWaitNs = 200'000'000;

AgentState* forking_state = nullptr;  // of the thread that forks; under its `forking`

void before() {
  AgentState& agent = state();
  agent.forking.lock();
  forking_state = &agent;
  if (Worker* const worker = agent.worker.load(); worker != nullptr) (void)worker->hold(kMostWaitNs);
}

void after() {
  AgentState* const agent = std::exchange(forking_state, nullptr);
  if (agent == nullptr) return;
  if (Worker* const worker = agent->worker.load(); worker != nullptr) worker->release();
  agent->forking.unlock();
}

void in_child() {
  after();
  start_over_in_child();
}
}  // namespace

void watch_forks() noexcept {
  static const int installed = pthread_atfork(before, after, in_child);
  if (installed != 0) remark("the process could not say when it forks: its children may write into this capture");
}

}  // namespace stepscope::agent
