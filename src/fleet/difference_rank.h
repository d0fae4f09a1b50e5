// The difference of one rank: what fleet/difference.h describes, for the runs of one rank on both sides.
#pragma once

#include "fleet/difference.h"
#include "fleet/difference_side.h"

namespace stepscope {

// Both sides have at least one step. `rank` is left to the caller.
[[nodiscard]] RankDifference compute_rank_difference(const RankSide& before, const RankSide& after,
                                                     const CompareOptions& options);

}  // namespace stepscope
