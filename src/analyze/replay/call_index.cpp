// A column over all calls was rejected: the window is a thousandth of a long trace.
#include "analyze/replay/call_index.h"

#include <algorithm>

namespace stepscope {

void CallIndex::add_thread(ThreadId thread, IdRange<CallId> calls) {
  if (by_thread_.size() <= thread.value) by_thread_.resize(thread.value + 1);
  by_thread_[thread.value] = {calls, nodes_.size()};
  nodes_.resize(nodes_.size() + calls.size());
}

std::size_t CallIndex::at(CallId call) const {
  const std::uint32_t thread = trace_->calls.thread[call].value;
  if (thread >= by_thread_.size()) return nodes_.size();
  const Slot& slot = by_thread_[thread];
  if (call.value < slot.calls.begin || call.value >= slot.calls.end) return nodes_.size();
  return slot.first + (call.value - slot.calls.begin);
}

const CallNodes* CallIndex::find(CallId call) const {
  const std::size_t i = call.has_value() ? at(call) : nodes_.size();
  return i < nodes_.size() && nodes_[i].start.has_value() ? &nodes_[i] : nullptr;
}

void CallIndex::set(CallId call, const CallNodes& nodes) { nodes_[at(call)] = nodes; }

IdRange<CallId> calls_of_window(const Trace& trace, ThreadId thread, Interval window) {
  const auto range = trace.calls_of_thread[thread];
  const auto begin = trace.calls.start_ns.raw().begin();
  const auto from = std::lower_bound(begin + range.begin, begin + range.end, window.start_ns);
  const auto to = std::lower_bound(from, begin + range.end, window.end_ns);
  return {static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - begin)};
}

}  // namespace stepscope
