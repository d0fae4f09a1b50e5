// A forked child (a data loader's worker, a shell command) has the parent's memory and one thread. It must not write
// into the parent's file, wait for the parent's worker or touch CUPTI: it records nothing, or has a capture of its own.
#include <pthread.h>

#include "agent/agent_state.h"

namespace stepscope::agent {
namespace {
void in_child() { start_over_in_child(); }
}  // namespace

void watch_forks() noexcept {
  static const int installed = pthread_atfork(nullptr, nullptr, in_child);
  if (installed != 0) remark("the process could not say when it forks: its children may write into this capture");
}

}  // namespace stepscope::agent
