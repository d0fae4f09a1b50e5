// Natural merge sort.
#include "analyze/sort_runs.h"

#include <algorithm>

namespace stepscope {

void sort_runs(std::vector<TimeNs>& times) {
  constexpr std::size_t kMaxRuns = 64;  // 6 rounds of merging; beyond this, sorting costs no more
  std::vector<std::size_t> bounds = {0};
  for (std::size_t i = 1; i < times.size() && bounds.size() <= kMaxRuns; ++i) {
    if (times[i] < times[i - 1]) bounds.push_back(i);
  }
  if (bounds.size() > kMaxRuns) return std::sort(times.begin(), times.end());
  bounds.push_back(times.size());
  auto at = [&](std::size_t bound) { return times.begin() + static_cast<std::ptrdiff_t>(bounds[bound]); };
  for (; bounds.size() > 2;) {
    std::vector<std::size_t> merged = {0};
    for (std::size_t run = 0; run + 1 < bounds.size(); run += 2) {
      if (run + 2 < bounds.size()) std::inplace_merge(at(run), at(run + 1), at(run + 2));
      merged.push_back(bounds[std::min(run + 2, bounds.size() - 1)]);
    }
    bounds = std::move(merged);
  }
}

}  // namespace stepscope
