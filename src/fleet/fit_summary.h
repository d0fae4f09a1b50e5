// Makes a summary fit its file, giving up detail in a fixed order.
#pragma once

#include <string>

#include "fleet/rank_summary.h"

namespace stepscope {

// A summary that fits is left as it is, so doing it twice changes nothing. What is given up is counted in the summary;
// sums over work rows and operators stay what they were.
void fit_summary(RankSummary& summary);
// The same, and its payload.
[[nodiscard]] std::string fit_and_encode(RankSummary& summary);
void fit_unreadable(UnreadableRank& file);

// At most `most_bytes`: cut at a character, with a hash of the whole text, so that different texts stay different.
[[nodiscard]] std::string fit_text(std::string text, std::size_t most_bytes);

}  // namespace stepscope
