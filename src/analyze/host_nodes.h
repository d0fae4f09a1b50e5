// Operators, spans and runtime calls of one thread as one sequence in which parents come before children.
//
// The three tables are each sorted by (start, longer first); this merges them without copying. Ties go to the span,
// then the operator, then the call: that is how they nest when they begin and end together. PyTorch nests
// events on its own thread numbers, under which a call of unknown operator belongs to the thread that stopped the
// profiler; here a call belongs to the thread it ran on.
#pragma once

#include "trace/trace.h"

namespace stepscope {

enum class HostTable : std::uint8_t { kSpan, kOp, kCall };

struct HostNode {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  HostTable table = HostTable::kOp;
  std::uint32_t row = 0;  // in its table
  StringId name;

  [[nodiscard]] OpId op() const { return table == HostTable::kOp ? OpId(row) : OpId(); }
};

namespace detail {

template <class Table, class IdType>
class HostCursor {
 public:
  HostCursor(const Table& table, IdRange<IdType> range, HostTable kind)
      : table_(table), at_(range.begin), end_(range.end), kind_(kind) {
    load();
  }
  [[nodiscard]] bool done() const { return at_ >= end_; }
  [[nodiscard]] const HostNode& node() const { return node_; }
  void next() {
    ++at_;
    load();
  }

 private:
  void load() {
    if (done()) return;
    const IdType id(at_);
    node_ = {table_.start_ns[id], table_.end_ns[id], kind_, at_, table_.name[id]};
  }

  const Table& table_;
  std::uint32_t at_, end_;
  HostTable kind_;
  HostNode node_;
};

inline bool comes_before(const HostNode& a, const HostNode& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.table < b.table;
}

}  // namespace detail

// visit(node) for each span, operator and call of the thread.
template <class Visit>
void for_each_host_node(const Trace& trace, ThreadId thread, Visit&& visit) {
  detail::HostCursor spans(trace.spans, trace.spans_of_thread[thread], HostTable::kSpan);
  detail::HostCursor ops(trace.ops, trace.ops_of_thread[thread], HostTable::kOp);
  detail::HostCursor calls(trace.calls, trace.calls_of_thread[thread], HostTable::kCall);
  while (true) {
    const HostNode* first = spans.done() ? nullptr : &spans.node();
    if (!ops.done() && (first == nullptr || detail::comes_before(ops.node(), *first))) first = &ops.node();
    if (!calls.done() && (first == nullptr || detail::comes_before(calls.node(), *first))) first = &calls.node();
    if (first == nullptr) return;
    visit(*first);
    if (first == &spans.node()) {
      spans.next();
    } else if (first == &ops.node()) {
      ops.next();
    } else {
      calls.next();
    }
  }
}

}  // namespace stepscope
