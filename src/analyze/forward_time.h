// How much of the GPU's time is the forward pass: what computing it again, as activation checkpointing does, would
// cost.
#pragma once

#include <optional>

#include "trace/trace.h"

namespace stepscope {

// GPU time of the work that operators of the forward pass launched, of the GPU time of all work (durations summed, not
// a union: kernels of one stream seldom overlap). Missing where no operator with gradients or no backward was recorded.
[[nodiscard]] std::optional<double> compute_forward_gpu_ratio(const Trace& trace);

}  // namespace stepscope
