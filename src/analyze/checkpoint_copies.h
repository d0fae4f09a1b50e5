// Checkpoints that no span and no frame names, known by their bulk of device-to-host copies.
#pragma once

#include <vector>

#include "analyze/host_slices.h"
#include "analyze/steps.h"

namespace stepscope {

// Stretches of the main thread, sorted, labelled kCheckpoint with the name of the copies as detail.
[[nodiscard]] std::vector<HostSlice> infer_checkpoints(const Trace& trace, const Steps& steps);

}  // namespace stepscope
