// Greedy: two ranks set the stride. A rank left over between two runs makes a run of one.
#include "fleet/rank_runs.h"

namespace stepscope {

std::vector<RankRun> make_rank_runs(const std::vector<std::int64_t>& ranks) {
  std::vector<RankRun> runs;
  for (std::size_t at = 0; at < ranks.size();) {
    RankRun run{ranks[at], 1, 1};
    if (at + 1 < ranks.size()) run.stride = ranks[at + 1] - ranks[at];
    while (at + 1 < ranks.size() && ranks[at + 1] - ranks[at] == run.stride) {
      ++run.count;
      ++at;
    }
    ++at;
    if (run.count == 1) run.stride = 1;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace stepscope
