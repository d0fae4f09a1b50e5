// Columns are walked through the tables' own lists, so that a column added later is compared too.
#include "export/same_trace.h"

#include <cmath>
#include <optional>
#include <type_traits>

namespace stepscope {
namespace {

class Comparison {
 public:
  Comparison(const Trace& a, const Trace& b) : a_(a), b_(b) {}

  std::string run(bool with_notes) {
    table("processes", &Trace::processes);
    table("threads", &Trace::threads);
    table("devices", &Trace::devices);
    table("streams", &Trace::streams);
    table("ops", &Trace::ops);
    table("spans", &Trace::spans);
    table("frames", &Trace::frames);
    table("calls", &Trace::calls);
    table("gpu_events", &Trace::gpu_events);
    table("collectives", &Trace::collectives);
    table("gpu_spans", &Trace::gpu_spans);
    table("memory_events", &Trace::memory_events);
    table("flows", &Trace::flows);
    table("counters", &Trace::counters);
    table("other_events", &Trace::other_events);
    compare_info();
    if (!with_notes) return difference_;
    check("producer", a_.info.producer, b_.info.producer);
    compare_notes();
    return difference_;
  }

 private:
  template <class Table>
  void table(const std::string& name, Table Trace::*member) {
    const Table& a = a_.*member;
    const Table& b = b_.*member;
    check(name + ".size", a.size(), b.size());
    if (!difference_.empty()) return;
    std::vector<std::string> names;
    a.for_each_column([&](std::string_view column, std::string_view, const auto&) { names.emplace_back(column); });
    std::size_t i = 0;
    Table::for_each_member([&](auto column) {
      const std::string& column_name = names[i++];
      if (column_name == "file_order") return;
      const auto& cells_a = (a.*column).raw();
      const auto& cells_b = (b.*column).raw();
      for (std::size_t row = 0; row < cells_a.size() && difference_.empty(); ++row) {
        if (!same(cells_a[row], cells_b[row])) {
          difference_ = name + "." + column_name + "[" + std::to_string(row) + "]: " + shown(a_, cells_a[row]) + " / " +
                        shown(b_, cells_b[row]);
        }
      }
    });
  }

  template <class T>
  bool same(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, StringId>) {
      return a_.text(a) == b_.text(b);
    } else if constexpr (std::is_same_v<T, double>) {
      return a == b || (std::isnan(a) && std::isnan(b));
    } else {
      return a == b;
    }
  }

  template <class T>
  static std::string shown(const Trace& trace, const T& cell) {
    if constexpr (std::is_same_v<T, StringId>) {
      return std::string(trace.text(cell));
    } else if constexpr (std::is_same_v<T, MaybeInt>) {
      return cell.has_value() ? std::to_string(cell.value()) : "missing";
    } else if constexpr (std::is_enum_v<T>) {
      return std::to_string(static_cast<int>(cell));
    } else if constexpr (std::is_arithmetic_v<T>) {
      return std::to_string(cell);
    } else {
      return cell.has_value() ? std::to_string(cell.value) : "none";
    }
  }

  template <class T>
  void check(const std::string& what, const T& a, const T& b) {
    if (a == b || !difference_.empty()) return;
    if constexpr (std::is_same_v<T, std::string>)
      difference_ = what + ": " + a + " / " + b;
    else if constexpr (std::is_arithmetic_v<T>)
      difference_ = what + ": " + std::to_string(a) + " / " + std::to_string(b);
    else
      difference_ = what + ": " + std::to_string(a.value_or(-1)) + " / " + std::to_string(b.value_or(-1));
  }

  void compare_info() {
    const TraceInfo& a = a_.info;
    const TraceInfo& b = b_.info;
    check("event_count", a.event_count, b.event_count);
    check("base_ns", a.base_ns, b.base_ns);
    check("rank", a.rank, b.rank);
    check("world_size", a.world_size, b.world_size);
    check("backend", a.backend, b.backend);
    check("process_groups", a.process_groups.size(), b.process_groups.size());
    for (std::size_t i = 0; i < std::min(a.process_groups.size(), b.process_groups.size()); ++i)
      check("process group " + std::to_string(i), a.process_groups[i] == b.process_groups[i], true);
    check("trace_name", a.trace_name, b.trace_name);
    check("host_name", a.host_name, b.host_name);
    check("cuda_runtime_version", a.cuda_runtime_version, b.cuda_runtime_version);
    check("cuda_driver_version", a.cuda_driver_version, b.cuda_driver_version);
    check("cupti_version", a.cupti_version, b.cupti_version);
    check("record_shapes", a.record_shapes, b.record_shapes);
    check("profile_memory", a.profile_memory, b.profile_memory);
    check("with_stack", a.with_stack, b.with_stack);
    check("with_flops", a.with_flops, b.with_flops);
    check("with_modules", a.with_modules, b.with_modules);
    check("command_line", a.command_line, b.command_line);
    check("python_version", a.python_version, b.python_version);
    check("torch_version", a.torch_version, b.torch_version);
    check("process_start_ns", a.process_start_ns, b.process_start_ns);
    check("windows", a.windows.size(), b.windows.size());
    for (std::size_t i = 0; i < std::min(a.windows.size(), b.windows.size()); ++i) {
      check("window start", a.windows[i].start_ns, b.windows[i].start_ns);
      check("window end", a.windows[i].end_ns, b.windows[i].end_ns);
    }
    check("remarks", a.remarks.size(), b.remarks.size());
    for (std::size_t i = 0; i < std::min(a.remarks.size(), b.remarks.size()); ++i)
      check("remark", a.remarks[i], b.remarks[i]);
  }

  void compare_notes() {
    const std::vector<Note>& a = a_.notes.all();
    const std::vector<Note>& b = b_.notes.all();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const std::string kind = "note " + std::string(note_kind_name(a[i].kind));
      check(kind, std::string(note_kind_name(a[i].kind)), std::string(note_kind_name(b[i].kind)));
      check(kind + " severity", std::string(note_severity_name(a[i].severity)),
            std::string(note_severity_name(b[i].severity)));
      check(kind + " count", a[i].count, b[i].count);
      check(kind + " first_offset", a[i].first_offset, b[i].first_offset);
      check(kind + " example", a[i].example, b[i].example);
    }
    check("notes", a.size(), b.size());
  }

  const Trace& a_;
  const Trace& b_;
  std::string difference_;
};

}  // namespace

std::string find_difference(const Trace& a, const Trace& b) { return Comparison(a, b).run(true); }

std::string find_table_difference(const Trace& a, const Trace& b) { return Comparison(a, b).run(false); }

}  // namespace stepscope
