// GPU time by the operator or span that launched it: the sum of its own events, without its children's.
//
// An event belongs to what carries its external id. That may be a span (a custom kernel launched inside a
// record_function block, outside any operator). Events with bad times and duplicates count nothing; with `device` only
// that device's events count.
#pragma once

#include <optional>

#include "trace/trace.h"

namespace stepscope {

struct OperatorDeviceTime {
  Column<OpId, DurationNs> of_op;
  Column<SpanId, DurationNs> of_span;  // empty when no event belongs to a span
  DurationNs without_owner_ns = 0;
};

[[nodiscard]] OperatorDeviceTime compute_operator_device_time(const Trace& trace, std::optional<DeviceId> device = {});

}  // namespace stepscope
