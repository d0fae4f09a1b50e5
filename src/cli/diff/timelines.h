// The recordings that a page of differences draws one above the other: of each side the one that is taken apart.
//
// Differences are a function of summaries, which hold no events, and which rank is taken apart is known only when all
// have been read; so those two recordings are read once more. Keeping every recording until then was rejected: a side
// may have a thousand.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "fleet/difference.h"

namespace stepscope {

// The columns of a side's recording (report/html/page_data.h); empty where it cannot be read a second time: its side is
// a summary, a pipe, or has changed since.
[[nodiscard]] std::string read_timeline(const DifferenceSide& side, const std::vector<std::string>& files,
                                        const TraceOptions& asked);

}  // namespace stepscope
