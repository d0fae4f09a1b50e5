// Parents come before their children in the table, so cover is inherited in one pass. See counted_operators.h.
#include "analyze/counted_operators.h"

#include <optional>

#include "analyze/operator_memo.h"

namespace stepscope {
namespace {

class Finder {
 public:
  explicit Finder(const Trace& trace) : trace_(trace), roles_(trace.strings.size()) {
    for (std::uint32_t i = 0; i < roles_.size(); ++i) roles_[i] = find_flops_role(trace.text(StringId{i}));
    out_.of_op.raw().assign(trace.ops.start_ns.size(), CountedOperators::kNone);
    out_.contains_counted.raw().assign(trace.ops.start_ns.size(), 0);
  }

  CountedOperators find() && {
    bool has_composites = false;
    for (const OpId op : trace_.ops.ids().ids()) {
      inherit(op);
      const bool is_told = trace_.ops.flops[op].has_value();
      const FlopsRole role = is_told ? FlopsRole::kWhole : role_of(op);
      if (role == FlopsRole::kNone) continue;
      if (out_.of_op[op] != CountedOperators::kNone) {
        note_types(op);
      } else if (role == FlopsRole::kWhole) {
        count(op);
      } else {
        has_composites = true;
      }
    }
    if (has_composites) count_composites();
    return std::move(out_);
  }

 private:
  [[nodiscard]] FlopsRole role_of(OpId op) const { return roles_[trace_.ops.name[op].value]; }

  void inherit(OpId op) {
    const OpId parent = trace_.ops.parent[op];
    if (parent.has_value() && out_.of_op[op] == CountedOperators::kNone) out_.of_op[op] = out_.of_op[parent];
  }

  void note_types(OpId op) {
    if (!trace_.ops.types[op].empty()) out_.list[out_.of_op[op]].types = trace_.ops.types[op];
  }

  [[nodiscard]] std::optional<OperatorCost> cost_of(OpId op) {
    const MaybeInt told = trace_.ops.flops[op];
    if (!told.has_value()) return memo_.find(trace_, op, compute_operator_cost);
    OperatorCost cost;
    cost.flops = static_cast<double>(told.value());
    return cost;
  }

  void count(OpId op) {
    const std::optional<OperatorCost> cost = cost_of(op);
    if (!cost) return;
    out_.of_op[op] = static_cast<std::uint32_t>(out_.list.size());
    out_.list.push_back({op, *cost, trace_.ops.types[op]});
    for (OpId outer = trace_.ops.parent[op]; outer.has_value() && out_.contains_counted[outer] == 0;
         outer = trace_.ops.parent[outer]) {
      out_.contains_counted[outer] = 1;
    }
  }

  // A second pass, when it is known what holds something counted: the outermost of those that do not.
  void count_composites() {
    for (const OpId op : trace_.ops.ids().ids()) {
      inherit(op);
      if (role_of(op) != FlopsRole::kComposite || out_.contains_counted[op] != 0) continue;
      if (out_.of_op[op] == CountedOperators::kNone) count(op);
    }
  }

  const Trace& trace_;
  std::vector<FlopsRole> roles_;  // by StringId
  OperatorMemo<std::optional<OperatorCost>> memo_;
  CountedOperators out_;
};

}  // namespace

CountedOperators find_counted_operators(const Trace& trace) { return Finder(trace).find(); }

}  // namespace stepscope
