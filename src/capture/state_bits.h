// What detail::recorder_state says, so that a span learns all it needs from one load.
//
// One recording of a session and the agent's capture (capture/agent_link.h) come and go independently; kAgent is the
// capture's part, the rest the recording's.
#pragma once

#include <cstdint>

namespace stepscope::state_bits {

inline constexpr std::uint64_t kRecords = 1;
inline constexpr std::uint64_t kShapes = 2;
inline constexpr std::uint64_t kMemory = 4;
inline constexpr std::uint64_t kStacks = 8;
inline constexpr std::uint64_t kFlops = 16;
inline constexpr std::uint64_t kSeeks = 32;  // the agent may come
inline constexpr std::uint64_t kHeard = 64;  // by the agent
inline constexpr std::uint64_t kAgent = kSeeks | kHeard;
inline constexpr unsigned kFlagBits = 8;  // above them: the recording's number

}  // namespace stepscope::state_bits
