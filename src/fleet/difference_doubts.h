// Why two recordings may differ for other reasons than the change that is looked for.
#pragma once

#include <string>
#include <vector>

#include "fleet/difference_side.h"

namespace stepscope {

// Sentences, the gravest first; A is before, B after. Of the runs of one rank.
[[nodiscard]] std::vector<std::string> find_doubts(const RankRuns& before, const RankRuns& after);
// What was lost, withheld or not kept of either side; each makes the answer partial.
[[nodiscard]] std::vector<std::string> find_losses(const RankRuns& before, const RankRuns& after);

}  // namespace stepscope
