// Which recordings are one and the same, and which are of one process: what both `diff` and `gate` have to know before
// they may count runs.
//
// Windows of one process are one run: they share its allocator, its clocks' speed and where its memory lies, so that
// the scatter between them is less than between runs. Taken for runs of their own they would make the noise between
// runs look smaller than it is, and a comparison would find differences, and a gate raise alarms, where there are none.
// Copies of one recording taken for runs would be worse: they do not differ at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

// Recordings of one process in the order in which they were made; at least one. Pointers into a RunSummary.
using Windows = std::vector<const RankSummary*>;

// What was recorded is the same, whatever the file is called and in whatever form it is. Never so of whole commands:
// two may take equally long.
[[nodiscard]] bool is_same_recording(const RankSummary& a, const RankSummary& b);

// When its steps began; missing without a clock or steps.
[[nodiscard]] std::optional<TimeNs> start_of(const RankSummary& summary);

// Of two programs, by their world sizes and backends. What is not known is no sign, as in fleet/roster.cpp.
[[nodiscard]] bool are_strangers(const RankSummary& a, const RankSummary& b);

// A recording that counts as a process of its own, though nothing but a long pause tells it from a later window of the
// process that `before` is of.
struct DoubtfulProcess {
  const RankSummary* opening = nullptr;
  const RankSummary* before = nullptr;
};
struct ProcessList {
  std::vector<Windows> each;  // where there is a clock, by time
  std::vector<DoubtfulProcess> doubtful;
};
[[nodiscard]] ProcessList group_by_process(std::vector<const RankSummary*> recordings);

// All ranks of one run, or of one recording of it.
struct Bundle {
  std::vector<Windows> ranks;
  std::optional<TimeNs> start_ns;  // missing: no clock
};

// Ranks whose recordings began within a minute of each other; a rank that is there twice belongs to two bundles. In the
// order of `processes`.
[[nodiscard]] std::vector<Bundle> bundle_ranks(std::vector<Windows> processes);

// What was counted as one run, and what as several though it may be one: "b.json is a later window of a process that is
// there already, and no run of its own"; "b.json counts as a run of its own, though it may be a later window of
// a.json's process: 52 h lie between, ...". None where nothing was in doubt.
[[nodiscard]] std::vector<std::string> describe_windows(const ProcessList& processes);

}  // namespace stepscope
