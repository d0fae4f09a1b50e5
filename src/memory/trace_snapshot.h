// A memory snapshot made of a trace's memory events, so that every answer about memory holds for traces and captures
// too.
//
// torch.profiler with profile_memory=True and `stepscope run --memory` record allocations and frees as they happen; a
// snapshot's history is the same with other names. What a trace does not have stays unknown: streams, pools, settings
// and where free pieces lie (so no fragmentation, no what-if). Reserved memory is known by its total alone: each change
// of it becomes a mapping of one made-up segment, whose address is no address of the device.
#pragma once

#include "base/result.h"
#include "memory/snapshot.h"
#include "trace/trace.h"

namespace stepscope {

// SnapshotInfo::format of a snapshot that was made here.
inline constexpr std::string_view kTraceSnapshotFormat = "trace";

// GPUs only. Stacks hold, from the inside: the call of CUDA, operators, Python frames, as far as recorded. Error
// (kNotFound): no allocation of a GPU is in the trace;
// how to record them is told by analyze/recording_words.h.
[[nodiscard]] Result<MemorySnapshot> snapshot_from_trace(const Trace& trace);

}  // namespace stepscope
