// Python stacks: not there yet. Every stack is "none".
#include "agent/parts.h"

namespace stepscope::agent {

bool attach_python() noexcept { return false; }
std::uint32_t python_stack_now() noexcept { return 0; }
std::uint32_t python_stack_of(std::int64_t) noexcept { return 0; }
WireStack write_python_stack(CaptureFile&, std::uint32_t) { return 0; }
std::string python_version() noexcept { return {}; }

}  // namespace stepscope::agent
