// The names by which others find the agent. Everything else in the library is hidden (see agent.map), so that the
// program's own zstd, xxhash or C++ library is never mixed with ours.
//
//   InitializeInjection     the CUDA driver, at cuInit, when CUDA_INJECTION64_PATH names this library
//   stepscope_agent_arm     the import hook of `stepscope run`, when PyTorch has been imported
//   stepscope_agent_bridge  Stepscope's C++ library in the program (bridge.cpp)
//   stepscope_agent_start   a program that knows of us: open and close a window
//   stepscope_agent_stop
#include "agent/parts.h"

#define STEPSCOPE_AGENT_EXPORT extern "C" __attribute__((visibility("default")))

// Anything but 0 lets CUDA go on; the driver prints a warning for 0, and the program shall see nothing of us.
STEPSCOPE_AGENT_EXPORT int InitializeInjection() noexcept {
  (void)stepscope::agent::arm("cuda");
  return 1;
}

// 1: armed; 0: not (nothing was asked for, or a failure that is said at exit).
STEPSCOPE_AGENT_EXPORT int stepscope_agent_arm() noexcept { return stepscope::agent::arm("import") ? 1 : 0; }
STEPSCOPE_AGENT_EXPORT void stepscope_agent_start() noexcept { stepscope::agent::request_start("the program"); }
STEPSCOPE_AGENT_EXPORT void stepscope_agent_stop() noexcept { stepscope::agent::request_stop("the program"); }

namespace {
// At load, for LD_PRELOAD: the loader's lock is held here, so no part is attached yet.
__attribute__((constructor)) void arm_at_load() noexcept { (void)stepscope::agent::arm("preload"); }
}  // namespace
