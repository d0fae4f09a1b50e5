// The agent's end of the bridge to Stepscope's C++ library in the same process (capture/agent_bridge.h).
#pragma once

#include "capture/agent_bridge.h"

namespace stepscope::agent {

// Whether spans are worth telling has changed (active, disarmed, over, a child): all libraries that joined are told.
// Atomics only: called in a child while it is forked.
void tell_libraries() noexcept;
// What `stepscope_agent_bridge` shows.
[[nodiscard]] const bridge::Agent& bridge_of_agent() noexcept;
// For tests: nobody has joined.
void forget_libraries() noexcept;

}  // namespace stepscope::agent
