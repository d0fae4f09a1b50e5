// Findings over all ranks of a run, and its verdict.
#pragma once

#include <string>
#include <vector>

#include "fleet/fleet_facts.h"
#include "fleet/fleet_replay.h"
#include "rules/finding.h"

namespace stepscope {

struct FleetFinding {
  Finding finding;                 // one that ranks have by themselves has the evidence and advice of `worst`, and no
                                   // gain: what it would bring that rank alone is none to the run
  std::vector<std::size_t> ranks;  // that have one of this id by themselves; indices into FleetFacts::ranks
  std::optional<std::size_t>
      worst;  // of them, whose numbers these are; missing: found by looking at all ranks together
};

// incomplete-run; straggler, rank-imbalance, slow-gpu; and every finding of the ranks once. In the order of reading.
[[nodiscard]] std::vector<FleetFinding> find_over_fleet(const RunSummary& run, const FleetFacts& facts,
                                                        const FleetReplay& replay);

// One sentence or two in plain words.
[[nodiscard]] std::string write_fleet_verdict(const FleetFacts& facts, const std::vector<FleetFinding>& findings);

// Facts, findings and verdict of a run.
struct FleetAnswer {
  FleetFacts facts;
  FleetReplay replay;
  std::vector<FleetFinding> findings;
  std::string verdict;
};
[[nodiscard]] FleetAnswer judge_fleet(const RunSummary& run);

// "rank 17", "ranks 3 and 7", "ranks 0-3, 9 and 14 more": at most `most` pieces.
[[nodiscard]] std::string name_ranks(const std::vector<std::int64_t>& ranks, std::size_t most);

}  // namespace stepscope
