// Does a reduced replay fit its summary? Summaries come from files, and the replay follows their numbers.
#pragma once

#include <optional>
#include <string>

#include "fleet/rank_summary.h"

namespace stepscope {

// A sentence that says what is wrong; missing when nothing is. A replay that was refused is sound.
[[nodiscard]] std::optional<std::string> find_replay_fault(const RankSummary& rank);

// No sum of a replay's weights and of lengths of its collectives is larger. Its faults include sums beyond 2^52 (52
// days), so that the sums of 256 ranks at least cannot overflow.
[[nodiscard]] DurationNs bound_replay_ns(const RankSummary& rank);

}  // namespace stepscope
