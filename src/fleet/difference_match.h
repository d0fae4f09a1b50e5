// Which GPU work of one run is which of another: rows of work, paired.
//
// First what is equal in everything; then, pass by pass, what differs in one thing: the kernel's name (another version
// of a library, another heuristic), the place (a renamed span), the shapes (another batch size), at last the operator.
// Later passes are guesses, so they ask for a like number of calls, and an operator is replaced only by one whose class
// says what it does: two elementwise kernels have nothing in common but being small. Text distance of kernel names was
// rejected: names of one library differ by a tile size, and say less than the operator that called them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fleet/difference.h"
#include "fleet/difference_noise.h"

namespace stepscope {

// The rows of equal identity of all runs of a rank. An empty kernel stands for what a summary did not keep by row.
struct WorkSeries {
  WorkIdentity identity;
  double call_count = 0;  // a step, mean over runs
  PartSeries busy_ns;     // runs, steps
};

struct WorkPair {
  WorkMatch match = WorkMatch::kSame;
  std::optional<std::size_t> before, after;  // indices of rows; at least one
};

// Every row of both sides stands in exactly one pair. Swapping the sides swaps the pairs and nothing else.
[[nodiscard]] std::vector<WorkPair> match_work(const std::vector<WorkSeries>& before,
                                               const std::vector<WorkSeries>& after);

}  // namespace stepscope
