// Resolves, once, who contains, who launched and what ran: the columns marked "linked" in the tables.
#pragma once

#include "trace/trace.h"

namespace stepscope {

// Fills every linked column of a sorted trace and notes duplicates, negative latencies and merged processes.
void link_trace(Trace& trace, unsigned threads);

}  // namespace stepscope
