// Allocation and free calls of the runtime inside the recorded steps: cudaMalloc, cudaFree and their kin.
//
// PyTorch's caching allocator calls them while it grows, and never in a steady step. Frees in every step mean that
// the cache is emptied or that memory is so tight that the allocator frees and asks again.
#pragma once

#include <optional>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

struct AllocationCalls {
  std::vector<std::int64_t> allocations_by_step_count;  // device memory; one for each of Steps::steps
  std::vector<std::int64_t> frees_by_step_count;        // likewise
  std::int64_t allocation_count = 0;
  std::int64_t free_count = 0;
  DurationNs call_sum_ns = 0;  // time inside these calls
  std::optional<CallId> longest;
  [[nodiscard]] std::int64_t in_step(std::size_t step) const {
    return allocations_by_step_count[step] + frees_by_step_count[step];
  }
};

[[nodiscard]] AllocationCalls compute_allocation_calls(const Trace& trace, const Steps& steps);

}  // namespace stepscope
