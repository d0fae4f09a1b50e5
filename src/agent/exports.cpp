// The names by which others find the agent. Everything else in the library is hidden (see agent.map), so that the
// program's own zstd, xxhash or C++ library is never mixed with ours.
//
//   InitializeInjection     the CUDA driver, at cuInit, when CUDA_INJECTION64_PATH names this library
//   stepscope_agent_arm     the import hook of `stepscope run`, when PyTorch has been imported
//   stepscope_agent_bridge  Stepscope's C++ library in the program (bridge.cpp)
//   stepscope_agent_start   a program that knows of us: open and close a window
//   stepscope_agent_stop
//   stepscope_agent_finish  the sitecustomize of `stepscope run`, where Python ends without C's atexit
//   stepscope_agent_..._optimizer_step, ..._memory_level and the like
//                           what the import hook loads (optimizer_calls.cpp, memory_exports.cpp)
//   stepscope_agent_begin   a profiler object inside the program: a capture of its own (own_capture.h)
//   stepscope_agent_warm_up
//   stepscope_agent_end
#include <cstring>

#include "agent/agent_state.h"
#include "agent/own_capture.h"
#include "agent/parts.h"

#define STEPSCOPE_AGENT_EXPORT extern "C" __attribute__((visibility("default")))

// Anything but 0 lets CUDA go on; the driver prints a warning for 0, and the program shall see nothing of us.
STEPSCOPE_AGENT_EXPORT int InitializeInjection() noexcept {
  (void)stepscope::agent::arm("cuda");
  return 1;
}

// 1: armed; 0: not (nothing was asked for, or a failure that is said at exit).
STEPSCOPE_AGENT_EXPORT int stepscope_agent_arm() noexcept { return stepscope::agent::arm("import") ? 1 : 0; }
// Ends the capture for good, as the process's end does: for ends that call nothing of C's (os._exit, a signal).
STEPSCOPE_AGENT_EXPORT void stepscope_agent_finish() noexcept { stepscope::agent::finish(); }
STEPSCOPE_AGENT_EXPORT void stepscope_agent_start() noexcept { stepscope::agent::request_start("the program"); }
STEPSCOPE_AGENT_EXPORT void stepscope_agent_stop() noexcept { stepscope::agent::request_stop("the program"); }

namespace {
void copy_text(const std::string& text, char* into, std::size_t bytes) noexcept {
  if (into == nullptr || bytes == 0) return;
  const std::size_t size = text.size() < bytes ? text.size() : bytes - 1;
  std::memcpy(into, text.data(), size);
  into[size] = '\0';
}
}  // namespace

// 1: begun. 0: not; `problem` gets the sentence that says why, cut to fit.
STEPSCOPE_AGENT_EXPORT int stepscope_agent_begin(const char* options, char* problem, std::size_t bytes) noexcept {
  std::string why;
  const bool is_begun = stepscope::agent::begin_capture(options != nullptr ? options : "", why);
  copy_text(why, problem, bytes);
  return is_begun ? 1 : 0;
}
// In the capture that was begun: does what is slow the first time, so that the first recorded step does not pay for it.
STEPSCOPE_AGENT_EXPORT void stepscope_agent_warm_up() noexcept { stepscope::agent::prepare_window(); }
// 1: `text` gets the path of the finished file. 0: there is none; `text` gets the reason, or nothing where nothing was
// recorded.
STEPSCOPE_AGENT_EXPORT int stepscope_agent_end(char* text, std::size_t bytes) noexcept {
  std::string why;
  const std::string path = stepscope::agent::end_capture(why);
  copy_text(path.empty() ? why : path, text, bytes);
  return path.empty() ? 0 : 1;
}

namespace {
// At load, for LD_PRELOAD: the loader's lock is held here, so no part is attached yet.
__attribute__((constructor)) void arm_at_load() noexcept { (void)stepscope::agent::arm("preload"); }
}  // namespace
