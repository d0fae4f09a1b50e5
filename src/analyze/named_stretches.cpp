// Spans first, then frames, then operators: a name belongs to one of these, and the smaller table is asked first.
// Each pass compares one 4-byte column.
#include "analyze/named_stretches.h"

#include "stats/quantiles.h"

namespace stepscope {
namespace {

template <class Table>
NamedStretches gather(const Table& table, const Steps& steps, StringId name) {
  NamedStretches out;
  std::vector<std::int64_t> lengths;
  for (const auto id : table.ids().ids()) {
    if (table.name[id] != name || !steps.find_by_host_time(table.start_ns[id])) continue;
    const Interval at{table.start_ns[id], table.end_ns[id]};
    lengths.push_back(at.length_ns());
    out.sum_ns += at.length_ns();
    if (out.count++ == 0 || at.length_ns() > out.longest.length_ns()) out.longest = at;
  }
  out.median_ns = median_ns(lengths);
  return out;
}

}  // namespace

NamedStretches compute_named_stretches(const Trace& trace, const Steps& steps, StringId name) {
  if (name.empty()) return {};
  NamedStretches out = gather(trace.spans, steps, name);
  if (out.count == 0) out = gather(trace.frames, steps, name);
  if (out.count == 0) out = gather(trace.ops, steps, name);
  return out;
}

}  // namespace stepscope
