// The main thread where no span names it.
//
// Backward work is launched from autograd's own thread, often more of it than from the main one, so threads that run
// `autograd::engine` operators are taken only when there is no other.
#include <algorithm>

#include "analyze/step_marks.h"

namespace stepscope {
namespace {

constexpr std::string_view kAutogradPrefix = "autograd::engine";

bool runs_autograd(const Trace& trace, ThreadId thread) {
  // Names repeat in runs; asking each distinct neighbour once is enough to keep this to a comparison of ids.
  StringId previous;
  for (const OpId op : trace.ops_of_thread[thread].ids()) {
    const StringId name = trace.ops.name[op];
    if (name == previous) continue;
    previous = name;
    if (trace.text(name).starts_with(kAutogradPrefix)) return true;
  }
  return false;
}

}  // namespace

ThreadId find_launching_thread(const Trace& trace) {
  struct Score {
    bool plain = false;  // launches, and no autograd
    std::size_t launch_count = 0;
    std::size_t row_count = 0;
    auto operator<=>(const Score&) const = default;
  };
  ThreadId best;
  Score best_score;
  for (const ThreadId thread : trace.threads.ids().ids()) {
    Score score;
    for (const CallId call : trace.calls_of_thread[thread].ids()) score.launch_count += trace.calls.gpu_count[call] > 0;
    score.plain = score.launch_count > 0 && !runs_autograd(trace, thread);
    score.row_count = trace.ops_of_thread[thread].size() + trace.spans_of_thread[thread].size() +
                      trace.frames_of_thread[thread].size() + trace.calls_of_thread[thread].size();
    if (score.row_count == 0 || (best.has_value() && score <= best_score)) continue;
    best = thread;
    best_score = score;
  }
  return best;
}

}  // namespace stepscope
