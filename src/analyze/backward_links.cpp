// Flags first (parents come before children, so one pass inherits them), then the join. See backward_links.h.
#include "analyze/backward_links.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "base/hash.h"

namespace stepscope {
namespace {

constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

// Is this operator itself run by autograd's engine?
class EngineOperators {
 public:
  explicit EngineOperators(const Trace& trace) : trace_(trace), is_engine_(trace.strings.size()) {
    for (std::uint32_t i = 0; i < is_engine_.size(); ++i) {
      is_engine_[i] = trace.text(StringId{i}).starts_with(kEngine) ? 1 : 0;
    }
  }
  [[nodiscard]] bool has(OpId op) const { return trace_.ops.forward_thread[op].value_or(0) > 0 || evaluates(op); }
  // Does it run a node, which is an operator inside it?
  [[nodiscard]] bool evaluates(OpId op) const { return is_engine_[trace_.ops.name[op].value] != 0; }

 private:
  const Trace& trace_;
  std::vector<std::uint8_t> is_engine_;
};

// A forward operator was recorded with gradients on, so it has a number of its own; the work of a backward operator
// runs without, so it has none.
void compute_flags(const Trace& trace, const EngineOperators& engine, BackwardLinks& out) {
  out.is_backward.raw().resize(trace.ops.start_ns.size());
  out.is_recomputed.raw().resize(trace.ops.start_ns.size());
  for (const OpId op : trace.ops.ids().ids()) {
    if (engine.has(op)) {
      out.is_backward[op] = 1;
      continue;
    }
    const OpId parent = trace.ops.parent[op];
    if (!parent.has_value() || out.is_backward[parent] == 0) continue;
    out.is_backward[op] = 1;
    const bool has_number = trace.ops.sequence[op].value_or(-1) >= 0;
    out.is_recomputed[op] = (has_number || out.is_recomputed[parent] != 0) ? 1 : 0;
  }
}

struct Maker {
  OpId op;
  bool is_ambiguous = false;  // operators of two threads carry the number
};
using Makers = tsl::robin_map<std::int64_t, Maker, MixedHash>;

Makers find_makers(const Trace& trace, const BackwardLinks& flags) {
  Makers out;
  for (const OpId op : trace.ops.ids().ids()) {
    const std::int64_t number = trace.ops.sequence[op].value_or(-1);
    if (number < 0 || flags.is_backward[op] != 0) continue;
    Maker& maker = out[number];
    if (maker.op.has_value() && trace.ops.thread[maker.op] != trace.ops.thread[op]) maker.is_ambiguous = true;
    maker.op = op;  // in order of start within a thread, so the last one stays
  }
  return out;
}

// Operators at the two ends of the `fwdbwd` arrows.
class Arrows {
 public:
  explicit Arrows(const Trace& trace) : trace_(trace) {
    const StringId category = trace.strings.find("fwdbwd");
    if (category.empty()) return;
    tsl::robin_map<std::uint64_t, OpId, MixedHash> starts;
    for (const FlowId flow : trace.flows.ids().ids()) {
      if (trace.flows.category[flow] != category || trace.flows.phase[flow] != 's') continue;
      starts[trace.flows.id[flow]] = operator_at(flow);
    }
    for (const FlowId flow : trace.flows.ids().ids()) {
      if (trace.flows.category[flow] != category || trace.flows.phase[flow] != 'f') continue;
      const auto start = starts.find(trace.flows.id[flow]);
      const OpId backward = operator_at(flow);
      if (start != starts.end() && start->second.has_value() && backward.has_value()) {
        forward_of_[backward.value] = start->second;
      }
    }
  }
  [[nodiscard]] OpId forward_of(OpId backward) const {
    const auto found = forward_of_.find(backward.value);
    return found == forward_of_.end() ? OpId() : found->second;
  }

 private:
  // The innermost operator that begins exactly where the arrow stands.
  OpId operator_at(FlowId flow) {
    const ThreadId thread = thread_of(trace_.flows.process_key[flow], trace_.flows.thread_key[flow]);
    if (!thread.has_value()) return {};
    const IdRange<OpId> range = trace_.ops_of_thread[thread];
    const auto& starts = trace_.ops.start_ns.raw();
    const auto begin = starts.begin() + range.begin;
    const auto after = std::upper_bound(begin, starts.begin() + range.end, trace_.flows.time_ns[flow]);
    if (after == begin || *(after - 1) != trace_.flows.time_ns[flow]) return {};
    return OpId(static_cast<std::size_t>(after - starts.begin() - 1));
  }
  ThreadId thread_of(StringId process, StringId thread) {
    if (threads_.empty()) {
      for (const ThreadId id : trace_.threads.ids().ids()) {
        threads_[key(trace_.processes.key[trace_.threads.process[id]], trace_.threads.key[id])] = id;
      }
    }
    const auto found = threads_.find(key(process, thread));
    return found == threads_.end() ? ThreadId() : found->second;
  }
  static std::uint64_t key(StringId process, StringId thread) {
    return (std::uint64_t{process.value} << 32) | thread.value;
  }

  const Trace& trace_;
  tsl::robin_map<std::uint64_t, ThreadId, MixedHash> threads_;
  tsl::robin_map<std::uint32_t, OpId> forward_of_;
};

void join_forward(const Trace& trace, const EngineOperators& engine, BackwardLinks& out) {
  out.forward.raw().resize(trace.ops.start_ns.size());
  const Makers makers = find_makers(trace, out);
  const Arrows arrows(trace);
  for (const OpId op : trace.ops.ids().ids()) {
    if (out.is_backward[op] == 0 || !engine.has(op)) continue;
    const auto maker = makers.find(trace.ops.sequence[op].value_or(-1));
    if (maker != makers.end() && !maker->second.is_ambiguous) out.forward[op] = maker->second.op;
    if (!out.forward[op].has_value()) out.forward[op] = arrows.forward_of(op);
    if (!out.forward[op].has_value() && maker != makers.end()) out.forward[op] = maker->second.op;
    const OpId parent = trace.ops.parent[op];
    const bool is_evaluated = parent.has_value() && engine.evaluates(parent);
    if (is_evaluated && !out.forward[parent].has_value()) out.forward[parent] = out.forward[op];
  }
  for (const OpId op : trace.ops.ids().ids()) {
    const OpId parent = trace.ops.parent[op];
    if (out.is_backward[op] == 0 || out.forward[op].has_value() || !parent.has_value()) continue;
    out.forward[op] = out.forward[parent];
  }
  // An arrow may point at the node inside the engine's operator: the outer one has the same cause.
  for (std::size_t i = trace.ops.start_ns.size(); i-- > 0;) {
    const OpId op(i);
    const OpId parent = trace.ops.parent[op];
    if (!out.forward[op].has_value() || !parent.has_value() || out.is_backward[parent] == 0) continue;
    if (!out.forward[parent].has_value()) out.forward[parent] = out.forward[op];
  }
}

}  // namespace

BackwardLinks compute_backward_links(const Trace& trace, bool join) {
  BackwardLinks out;
  const EngineOperators engine(trace);
  compute_flags(trace, engine, out);
  if (join) join_forward(trace, engine, out);
  return out;
}

}  // namespace stepscope
