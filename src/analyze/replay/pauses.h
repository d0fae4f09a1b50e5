// Long silent stretches of the host: one Python frame, or nothing at all, for 5 ms and more.
//
// A collection by Python's garbage collector looks like this (0.1 to 0.5 s with millions of objects), and so does any
// work of the program that makes no PyTorch call. The GPU has run dry long before 5 ms have passed: its queue holds
// about 1,000 launches of a few us each. The main thread's standing still while a worker runs is no pause.
#pragma once

#include "analyze/replay/regions.h"

namespace stepscope {

inline constexpr DurationNs kLeastPauseNs = 5'000'000;

struct Pauses {
  std::vector<PauseSite> sites;  // costliest first
  HostRegions regions;
};

[[nodiscard]] Pauses find_pauses(const ReplayInput& input, const ReplayWindow& window);
[[nodiscard]] bool names_garbage_collection(std::string_view frame_or_span);

}  // namespace stepscope
