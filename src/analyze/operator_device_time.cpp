// One pass over the GPU events. The external ids of spans are looked up only for events whose operator does not
// carry theirs, which ordinary files do not have. See operator_device_time.h.
#include "analyze/operator_device_time.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

// External ids of spans, sorted.
class SpanIds {
 public:
  explicit SpanIds(const Trace& trace) {
    for (const SpanId span : trace.spans.ids().ids()) {
      const MaybeInt id = trace.spans.external_id[span];
      if (id.value_or(0) != 0) by_id_.emplace_back(id.value(), span);
    }
    std::sort(by_id_.begin(), by_id_.end());
  }
  [[nodiscard]] SpanId find(std::int64_t external_id) const {
    const auto at = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair(external_id, SpanId(std::size_t{0})));
    return at != by_id_.end() && at->first == external_id ? at->second : SpanId();
  }

 private:
  std::vector<std::pair<std::int64_t, SpanId>> by_id_;
};

}  // namespace

OperatorDeviceTime compute_operator_device_time(const Trace& trace, std::optional<DeviceId> device) {
  OperatorDeviceTime out;
  out.of_op.raw().assign(trace.ops.start_ns.size(), 0);
  const SpanIds span_ids(trace);
  const GpuEvents& events = trace.gpu_events;
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kNone || (device && events.device[id] != *device)) continue;
    const DurationNs length = events.end_ns[id] - events.start_ns[id];
    const OpId op = events.op[id];
    const MaybeInt external_id = events.external_id[id];
    const bool is_op_by_id = op.has_value() && external_id == trace.ops.external_id[op];
    if (!is_op_by_id && external_id.value_or(0) != 0) {
      if (const SpanId span = span_ids.find(external_id.value()); span.has_value()) {
        if (out.of_span.empty()) out.of_span.raw().assign(trace.spans.start_ns.size(), 0);
        out.of_span[span] += length;
        continue;
      }
    }
    if (op.has_value()) {
      out.of_op[op] += length;
    } else {
      out.without_owner_ns += length;
    }
  }
  return out;
}

}  // namespace stepscope
