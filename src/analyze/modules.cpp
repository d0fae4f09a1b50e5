// Each operator is charged to one place (a module's frame, or its outermost operator), then places are summed into
// rows. See modules.h.
#include "analyze/modules.h"

#include <tsl/robin_map.h>

#include <limits>

#include "analyze/backward_links.h"
#include "analyze/operator_device_time.h"
#include "analyze/python_frames.h"

namespace stepscope {
namespace {

struct Charge {
  DurationNs forward_device_ns = 0, backward_device_ns = 0;
  DurationNs backward_cpu_ns = 0;  // of backward operators that stand in no other

  void add(const Charge& other) {
    forward_device_ns += other.forward_device_ns;
    backward_device_ns += other.backward_device_ns;
    backward_cpu_ns += other.backward_cpu_ns;
  }
};

// Rows by name, in order of first appearance.
class Rows {
 public:
  explicit Rows(const Trace& trace) : trace_(trace) {}
  AverageRow& operator[](StringId name) { return at(name.value, trace_.text(name)); }
  AverageRow& outside_modules() { return at(kOutside, "(outside modules)"); }
  Averages finish() && {
    for (const AverageRow& row : out_.rows) {
      out_.self_cpu_time_total_ns += row.self_cpu_time_total_ns;
      out_.self_device_time_total_ns += row.self_device_time_total_ns;
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kOutside = std::numeric_limits<std::uint32_t>::max();
  AverageRow& at(std::uint32_t key, std::string_view name) {
    const auto [found, is_new] = index_.try_emplace(key, out_.rows.size());
    if (is_new) {
      AverageRow row;
      row.key = name;
      row.device_type = "DeviceType.CPU";
      out_.rows.push_back(std::move(row));
    }
    return out_.rows[found->second];
  }
  const Trace& trace_;
  tsl::robin_map<std::uint32_t, std::size_t> index_;
  Averages out_;
};

void add_total(AverageRow& row, DurationNs forward_cpu_ns, const Charge& charge) {
  row.cpu_time_total_ns += forward_cpu_ns + charge.backward_cpu_ns;
  row.inclusive_ns += forward_cpu_ns;
  row.forward_device_time_ns += charge.forward_device_ns;
  row.backward_device_time_ns += charge.backward_device_ns;
  row.device_time_total_ns += charge.forward_device_ns + charge.backward_device_ns;
}

void add_self(AverageRow& row, DurationNs forward_cpu_ns, const Charge& charge) {
  row.self_cpu_time_total_ns += forward_cpu_ns + charge.backward_cpu_ns;
  row.self_device_time_total_ns += charge.forward_device_ns + charge.backward_device_ns;
}

class ModuleSums {
 public:
  ModuleSums(const Trace& trace, const AveragesOptions& options)
      : trace_(trace),
        options_(options),
        links_(compute_backward_links(trace)),
        device_time_(compute_operator_device_time(trace)) {}

  Averages by_frames();
  Averages by_operators();

 private:
  // What one operator adds to the place it is charged to.
  [[nodiscard]] Charge charge_of(OpId op) const {
    Charge out;
    const bool is_backward = links_.is_backward[op] != 0;
    (is_backward ? out.backward_device_ns : out.forward_device_ns) = device_time_.of_op[op];
    const OpId parent = trace_.ops.parent[op];
    const bool is_outermost = !parent.has_value() || links_.is_backward[parent] == 0;
    if (is_backward && is_outermost) out.backward_cpu_ns = trace_.ops.end_ns[op] - trace_.ops.start_ns[op];
    return out;
  }
  void find_module_frames();
  void add_frame_rows(Column<FrameId, Charge>& charges, Rows& rows) const;
  [[nodiscard]] Column<FrameId, std::uint8_t> find_nested_namesakes() const;

  const Trace& trace_;
  const AveragesOptions& options_;
  BackwardLinks links_;
  OperatorDeviceTime device_time_;
  Column<FrameId, FrameId> module_parent_;  // nearest module frame strictly around; for every frame
  Column<FrameId, std::uint8_t> is_module_;
};

void ModuleSums::find_module_frames() {
  std::vector<std::uint8_t> is_module_name(trace_.strings.size());
  for (std::uint32_t i = 0; i < is_module_name.size(); ++i) {
    is_module_name[i] = is_module_frame_name(trace_.text(StringId{i})) ? 1 : 0;
  }
  module_parent_.raw().resize(trace_.frames.start_ns.size());
  is_module_.raw().resize(trace_.frames.start_ns.size());
  for (const FrameId frame : trace_.frames.ids().ids()) {
    is_module_[frame] = is_module_name[trace_.frames.name[frame].value];
    const FrameId parent = trace_.frames.parent[frame];
    if (!parent.has_value()) continue;
    module_parent_[frame] = is_module_[parent] != 0 ? parent : module_parent_[parent];
  }
}

// 1 for a module frame inside another of the same name, whose total holds it already.
Column<FrameId, std::uint8_t> ModuleSums::find_nested_namesakes() const {
  Column<FrameId, std::uint8_t> out;
  out.raw().resize(trace_.frames.start_ns.size());
  std::vector<std::uint32_t> open_count(trace_.strings.size());
  std::vector<FrameId> open;  // module frames around the one at hand
  for (const FrameId frame : trace_.frames.ids().ids()) {
    if (is_module_[frame] == 0) continue;
    while (!open.empty() && open.back() != module_parent_[frame]) {
      --open_count[trace_.frames.name[open.back()].value];
      open.pop_back();
    }
    out[frame] = open_count[trace_.frames.name[frame].value]++ > 0 ? 1 : 0;
    open.push_back(frame);
  }
  return out;
}

// charges: of each module frame alone; summed outwards here.
void ModuleSums::add_frame_rows(Column<FrameId, Charge>& charges, Rows& rows) const {
  Column<FrameId, DurationNs> nested_cpu;
  nested_cpu.raw().resize(charges.size());
  for (const FrameId frame : trace_.frames.ids().ids()) {
    if (is_module_[frame] == 0 || !options_.counts(trace_.frames.start_ns[frame])) continue;
    const FrameId outer = module_parent_[frame];
    if (outer.has_value()) nested_cpu[outer] += trace_.frames.end_ns[frame] - trace_.frames.start_ns[frame];
  }
  Column<FrameId, Charge> totals = charges;
  for (std::size_t i = totals.size(); i-- > 0;) {
    const FrameId frame(i);
    if (is_module_[frame] != 0 && module_parent_[frame].has_value()) totals[module_parent_[frame]].add(totals[frame]);
  }
  const Column<FrameId, std::uint8_t> is_nested_namesake = find_nested_namesakes();
  for (const FrameId frame : trace_.frames.ids().ids()) {
    if (is_module_[frame] == 0 || !options_.counts(trace_.frames.start_ns[frame])) continue;
    const DurationNs cpu = trace_.frames.end_ns[frame] - trace_.frames.start_ns[frame];
    AverageRow& row = rows[trace_.frames.name[frame]];
    ++row.count;
    ++row.record_count;
    add_self(row, cpu - nested_cpu[frame], charges[frame]);
    if (is_nested_namesake[frame] == 0) add_total(row, cpu, totals[frame]);
  }
}

Averages ModuleSums::by_frames() {
  find_module_frames();
  const Column<OpId, FrameId> operator_frames = compute_operator_frames(trace_);
  Column<FrameId, Charge> charges;
  charges.raw().resize(trace_.frames.start_ns.size());
  Rows rows(trace_);
  Charge outside;
  std::int64_t outside_count = 0;
  for (const OpId op : trace_.ops.ids().ids()) {
    if (!options_.counts(trace_.ops.start_ns[op])) continue;
    const OpId cause = links_.is_backward[op] != 0 ? links_.forward[op] : op;
    FrameId frame = cause.has_value() ? operator_frames[cause] : FrameId();
    if (frame.has_value() && is_module_[frame] == 0) frame = module_parent_[frame];
    if (frame.has_value()) {
      charges[frame].add(charge_of(op));
    } else {
      outside.add(charge_of(op));
      if (!trace_.ops.parent[op].has_value()) ++outside_count;
    }
  }
  add_frame_rows(charges, rows);
  if (outside_count > 0) {
    AverageRow& row = rows.outside_modules();
    row.count = row.record_count = outside_count;
    add_total(row, 0, outside);
    add_self(row, 0, outside);
  }
  return std::move(rows).finish();
}

Averages ModuleSums::by_operators() {
  Column<OpId, OpId> outermost;
  outermost.raw().resize(trace_.ops.start_ns.size());
  for (const OpId op : trace_.ops.ids().ids()) {
    const OpId parent = trace_.ops.parent[op];
    outermost[op] = parent.has_value() ? outermost[parent] : op;
  }
  Rows rows(trace_);
  for (const OpId op : trace_.ops.ids().ids()) {
    if (!options_.counts(trace_.ops.start_ns[op])) continue;
    const bool is_linked = links_.is_backward[op] != 0 && links_.forward[op].has_value();
    const OpId place = outermost[is_linked ? links_.forward[op] : op];
    AverageRow& row = rows[trace_.ops.name[place]];
    const Charge charge = charge_of(op);
    DurationNs forward_cpu = 0;
    if (place == op) {
      ++row.count;
      ++row.record_count;
      if (links_.is_backward[op] == 0) forward_cpu = trace_.ops.end_ns[op] - trace_.ops.start_ns[op];
    }
    add_total(row, forward_cpu, charge);
    add_self(row, forward_cpu, charge);
  }
  return std::move(rows).finish();
}

}  // namespace

Averages compute_module_averages(const Trace& trace, const AveragesOptions& options) {
  ModuleSums sums(trace, options);
  for (const StringId name : trace.frames.name.raw()) {
    if (is_module_frame_name(trace.text(name))) return sums.by_frames();
  }
  return sums.by_operators();
}

}  // namespace stepscope
