// Finds the operators that count, then sums them by step, by name and by what they are. See flops.h.
#include "analyze/flops.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "analyze/backward_links.h"
#include "analyze/counted_operators.h"
#include "analyze/matmul_dtype.h"
#include "analyze/operator_device_time.h"

namespace stepscope {
namespace {

// Host intervals of the steps, asked in any order; without steps everything is inside.
class StepOfTime {
 public:
  explicit StepOfTime(const Steps& steps) : steps_(steps) {}
  // Missing outside the steps; 0 when there are none.
  [[nodiscard]] std::optional<std::size_t> find(TimeNs time_ns) {
    if (steps_.steps.empty()) return 0;
    // Neighbours in the table mostly lie in one step.
    if (last_ < steps_.steps.size() && contains(last_, time_ns)) return last_;
    const auto found = steps_.find_by_host_time(time_ns);
    if (found) last_ = *found;
    return found;
  }

 private:
  [[nodiscard]] bool contains(std::size_t step, TimeNs time_ns) const {
    const Interval& host = steps_.steps[step].host;
    return time_ns >= host.start_ns && time_ns < host.end_ns;
  }
  const Steps& steps_;
  std::size_t last_ = 0;
};

void add_cost(const OperatorCost& cost, bool is_recomputed, Flops& out) {
  const double halved = cost.is_causal ? cost.flops / 2 : cost.flops;
  out.total += cost.flops;
  out.total_causal_halved += halved;
  if (is_recomputed) {
    out.recomputed += cost.flops;
  } else {
    out.model += cost.flops;
    out.model_causal_halved += halved;
  }
  if (cost.is_attention && !cost.is_backward && !is_recomputed) out.attention_forward += cost.flops;
  if (cost.is_causal) ++out.causal_attention_count;
}

class ByOperator {
 public:
  void add(StringId name, double flops) {
    const auto [at, is_new] = index_.try_emplace(name.value, rows_.size());
    if (is_new) rows_.push_back({name, 0, 0});
    ++rows_[at->second].count;
    rows_[at->second].flops += flops;
  }
  [[nodiscard]] std::vector<OperatorFlops> largest_first(const Trace& trace) {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.flops > b.flops; });
    std::vector<OperatorFlops> out;
    out.reserve(rows_.size());
    for (const Row& row : rows_) out.push_back({std::string(trace.text(row.name)), row.count, row.flops});
    return out;
  }

 private:
  struct Row {
    StringId name;
    std::int64_t count;
    double flops;
  };
  tsl::robin_map<std::uint32_t, std::size_t> index_;
  std::vector<Row> rows_;
};

// Names like a matrix product's whose kernels took time and of which nothing was counted, costliest first.
std::vector<std::string> find_unknown(const Trace& trace, const CountedOperators& counted, StepOfTime& steps) {
  std::vector<std::uint8_t> is_candidate(trace.strings.size());
  bool has_candidates = false;
  for (const OpId op : trace.ops.ids().ids()) {
    if (counted.of_op[op] != CountedOperators::kNone || counted.contains_counted[op] != 0) continue;
    std::uint8_t& candidate = is_candidate[trace.ops.name[op].value];
    if (candidate == 0) candidate = looks_like_matmul(trace.text(trace.ops.name[op])) ? 1 : 2;
    has_candidates = has_candidates || candidate == 1;
  }
  if (!has_candidates) return {};
  const OperatorDeviceTime device_time = compute_operator_device_time(trace);
  std::vector<std::pair<DurationNs, StringId>> rows;
  tsl::robin_map<std::uint32_t, std::size_t> index;
  for (const OpId op : trace.ops.ids().ids()) {
    if (is_candidate[trace.ops.name[op].value] != 1 || device_time.of_op[op] <= 0) continue;
    if (counted.of_op[op] != CountedOperators::kNone || counted.contains_counted[op] != 0) continue;
    if (!steps.find(trace.ops.start_ns[op])) continue;
    const auto [at, is_new] = index.try_emplace(trace.ops.name[op].value, rows.size());
    if (is_new) rows.emplace_back(0, trace.ops.name[op]);
    rows[at->second].first += device_time.of_op[op];
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  out.reserve(rows.size());
  for (const auto& [time, name] : rows) out.emplace_back(trace.text(name));
  return out;
}

bool has_shapes(const Trace& trace) {
  const auto& shapes = trace.ops.shapes.raw();
  return std::any_of(shapes.begin(), shapes.end(), [](StringId text) { return !text.empty(); });
}

bool has_told_flops(const Trace& trace) {
  const auto& flops = trace.ops.flops.raw();
  return std::any_of(flops.begin(), flops.end(), [](MaybeInt told) { return told.has_value(); });
}

}  // namespace

Flops compute_flops(const Trace& trace, const Steps& steps) {
  Flops out;
  out.shapes_recorded = has_shapes(trace) || has_told_flops(trace);
  out.by_step.assign(steps.steps.size(), 0);
  if (!out.shapes_recorded) return out;
  const CountedOperators counted = find_counted_operators(trace);
  const BackwardLinks links = compute_backward_links(trace, /*join=*/false);
  StepOfTime step_of_time(steps);
  ByOperator by_operator;
  std::vector<double> weights(counted.list.size(), 0);
  for (std::size_t i = 0; i < counted.list.size(); ++i) {
    const CountedOperator& one = counted.list[i];
    const auto step = step_of_time.find(trace.ops.start_ns[one.op]);
    if (!step) continue;
    add_cost(one.cost, links.is_recomputed[one.op] != 0, out);
    by_operator.add(trace.ops.name[one.op], one.cost.flops);
    weights[i] = one.cost.flops;
    if (*step < out.by_step.size()) out.by_step[*step] += one.cost.flops;
  }
  out.by_operator = by_operator.largest_first(trace);
  out.unknown_operators = find_unknown(trace, counted, step_of_time);
  out.dominant_dtype = find_dominant_dtype(trace, counted, weights);
  return out;
}

}  // namespace stepscope
