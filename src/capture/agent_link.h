// The library's end of the bridge to the agent: finds it, and tells it of spans while it wants to hear them.
//
// Whether the agent listens is two bits of detail::recorder_state, so a span that nobody hears still costs one load:
//
//   kSeeks   `stepscope run` started this program but the agent is not there yet (CUDA loads it at its first call):
//            spans look for it, every 10 ms at most
//   kHeard   the agent records, or waits for the end of a step
//
// The agent's copy of this code never joins itself: nothing in the agent makes spans.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/agent_bridge.h"
#include "stepscope/span.h"

namespace stepscope {

// The agent of this process, if there is one that understands us; looked for at each call until one is found. For
// sessions, which ask once; with or without options in the environment. `refusal` (if any) says why one was refused.
[[nodiscard]] const bridge::Agent* find_agent(std::string_view* refusal = nullptr);

// At load: the process is meant to be captured, so spans shall look for the agent.
void seek_agent_if_wanted();
// A span's slow path while kSeeks or kHeard is set: looks for the agent if it is time. The state as it is then.
[[nodiscard]] std::uint64_t hear_agent(std::uint64_t state);

// While kHeard is set.
[[nodiscard]] std::uint64_t open_agent_span(std::string_view name);  // 0: its end need not be told
void close_agent_span(const detail::OpenSpan& span, std::uint64_t end_ticks);
void open_agent_async(std::int64_t id, std::string_view name);
void close_agent_async(std::int64_t id);
void write_agent_instant(std::string_view name);
void write_agent_counter(std::string_view name, double value);
void write_agent_allocation(const Allocation& allocation);
// A session's step that began at `start_ticks` ends now.
void write_agent_step(std::int64_t number, std::uint64_t start_ticks);

// For tests: takes `agent` as if it had been found; nullptr: forgets it.
bool join_agent(const bridge::Agent* agent);

}  // namespace stepscope
