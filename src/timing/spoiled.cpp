// What in the environment spoils GPU times.
//
// Read each time, not once: a program may set the variable itself before it starts CUDA, and tests do.
#include <cstdlib>
#include <string_view>

#include "stepscope/clock.h"

namespace stepscope {

std::string find_spoiled_timing() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking == nullptr || std::string_view(blocking).empty() || std::string_view(blocking) == "0") return "";
  return std::string("CUDA_LAUNCH_BLOCKING=") + blocking +
         " is set: each launch waits for its kernel, so host and GPU never overlap and these times are too long";
}

}  // namespace stepscope
