// Why two recordings may differ for other reasons than the change that is looked for.
#pragma once

#include <string>
#include <vector>

#include "fleet/recordings.h"

namespace stepscope {

// Sentences, the gravest first; A is before, B after. Of the recordings of one rank.
[[nodiscard]] std::vector<std::string> find_doubts(const Windows& before, const Windows& after);
// What was lost, withheld or not kept of either side; each makes the answer partial.
[[nodiscard]] std::vector<std::string> find_losses(const Windows& before, const Windows& after);

}  // namespace stepscope
