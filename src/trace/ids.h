// The row types of the trace model. See the table's own file for what a row is.
#pragma once

#include "base/id.h"

namespace stepscope {

using ProcessId = Id<struct ProcessTag>;
using ThreadId = Id<struct ThreadTag>;
using DeviceId = Id<struct DeviceTag>;
using StreamId = Id<struct StreamTag>;
using OpId = Id<struct OpTag>;
using SpanId = Id<struct SpanTag>;
using FrameId = Id<struct FrameTag>;
using CallId = Id<struct CallTag>;
using GpuEventId = Id<struct GpuEventTag>;
using GpuSpanId = Id<struct GpuSpanTag>;
using CollectiveId = Id<struct CollectiveTag>;
using MemoryEventId = Id<struct MemoryEventTag>;
using FlowId = Id<struct FlowTag>;
using CounterId = Id<struct CounterTag>;
using OtherEventId = Id<struct OtherEventTag>;

}  // namespace stepscope
