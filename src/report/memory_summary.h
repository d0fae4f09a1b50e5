// torch.cuda.memory_summary of a snapshot: torch's own table, with `-` for what a snapshot cannot know.
#pragma once

#include <string>

#include "memory/allocator_stats.h"

namespace stepscope {

// `abbreviated`: without the rows of the two pools, as torch's argument.
[[nodiscard]] std::string write_memory_summary(const AllocatorStats& stats, bool abbreviated = false);

// {"allocated_bytes.all.current": 5, ..., "num_ooms": null}: one object with torch's keys, sorted.
[[nodiscard]] std::string write_memory_stats_json(const AllocatorStats& stats);

}  // namespace stepscope
