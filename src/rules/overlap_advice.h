// What brings communication under compute, by what the collectives are and the stream they run on.
//
// All-reduce on a stream of its own is DDP's buckets, all-gather and reduce-scatter are FSDP's shards; either on the
// stream of the matrix products is tensor parallel, where compute waits for each; all-to-all exchanges between experts.
#pragma once

#include <string>
#include <vector>

#include "rules/finding.h"

namespace stepscope {

// Of the collectives of the window; that of the longest kind first.
[[nodiscard]] std::vector<std::string> overlap_advice(const RuleInput& input, DeviceId device);

}  // namespace stepscope
