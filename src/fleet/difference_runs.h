// Which recordings of a side of a comparison count: those of one run, and each once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/difference_side.h"
#include "fleet/stopped_runs.h"

namespace stepscope {

using RanksOfSide = std::map<std::optional<std::int64_t>, RankRuns>;

struct ChosenRuns {
  RanksOfSide ranks;          // pointers into the run and into `counted`
  CountedRecordings counted;  // without the steps that Stepscope itself stopped
  std::vector<std::string> doubts;
  std::vector<std::string> windows;  // sentences: which recordings are no runs of their own, and which may be none
  bool has_left_out = false;         // ranks of another run, not mere copies
};
// `side` is "A" or "B". Recordings without steps do not count, and say nothing.
[[nodiscard]] ChosenRuns choose_runs(const RunSummary& run, const std::string& side);

}  // namespace stepscope
