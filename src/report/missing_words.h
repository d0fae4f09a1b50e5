// A sentence about steps whose numbers the recording skips; the same in each output.
#pragma once

#include <string>
#include <vector>

#include "analyze/steps.h"
#include "fleet/fleet_facts.h"

namespace stepscope {

// Without a full stop: "step #4 is missing in the recording: the time of its gap is left out". Empty if none is.
[[nodiscard]] std::string missing_words(const std::vector<MissingSteps>& missing);

// For the title, after a range: "", " without #4", " without #6 to #12", ", not all".
[[nodiscard]] std::string missing_short_words(const std::vector<MissingSteps>& missing);

// Of many ranks, who skips which: "rank 1: step #4 is missing in the recording: ...; 7 ranks: ...". Empty if none does.
[[nodiscard]] std::string missing_words(const FleetFacts& facts);
// Whose summaries have the first steps alone: "rank 0 and 3 others: only the first 1,024 of 3,000 steps are in the
// summary, and no figure knows the others". Empty if none has.
[[nodiscard]] std::string not_kept_words(const FleetFacts& facts);
// Whose steps are a sample of those recorded: "1,024 of 5,000 steps stand for all". Empty if none's are.
[[nodiscard]] std::string sample_words(const FleetFacts& facts);
// For the title, after the range of steps that ranks share: as above where all skip the same of it.
[[nodiscard]] std::string missing_short_words(const FleetFacts& facts);

}  // namespace stepscope
