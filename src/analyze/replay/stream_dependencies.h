// Which units had to wait for work on another stream.
//
// A trace does not say which event a cudaStreamWaitEvent waited for, nor on which stream. What PyTorch does is known,
// though, so we guess and let the recorded times refute: a unit that started before the supposed dependency ended did
// not wait for it. Reading `cuda_sync` rows would be exact, but most files have none.
#pragma once

#include "analyze/replay/call_index.h"
#include "analyze/replay/gpu_units.h"

namespace stepscope {

// Sorted by unit.
[[nodiscard]] std::vector<UnitDependency> find_stream_dependencies(const ReplayInput& input, const ReplayWindow& window,
                                                                   const ReplayGraph& graph, const UnitIndex& index);

}  // namespace stepscope
