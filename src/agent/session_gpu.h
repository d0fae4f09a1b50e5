// The GPU's records for a profiling session of the program, while the agent's own capture does not use them.
//
// CUPTI and the rings have one reader. So a session and a window of the capture exclude each other: a session is told
// that the GPU is taken, and a window that would open during a session is not opened, which is said at exit. Handing
// every record to both was rejected: each would have to be kept twice, for the rare program that asks twice.
// The records are collected by a Worker of the session's own, into memory instead of a file.
#pragma once

#include <string>

#include "capture/agent_bridge.h"

namespace stepscope::agent {

struct SessionGpuAnswer {
  bridge::GpuAnswer answer = bridge::GpuAnswer::kStarted;
  std::string reason{};
};
// `needs_cuda`: only if the program has loaded CUDA.
[[nodiscard]] SessionGpuAnswer prepare_session_gpu(bool needs_cuda);
[[nodiscard]] SessionGpuAnswer start_session_gpu(bool needs_cuda);
void stop_session_gpu(const bridge::GpuSink& sink);
// At exit: ends the recording while CUDA is still there. What was recorded is kept for stop_session_gpu.
void end_session_gpu() noexcept;
// A forked child has none of it. Tests too.
void forget_session_gpu() noexcept;

}  // namespace stepscope::agent
