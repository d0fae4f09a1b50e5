// What one side of `stepscope diff` is read from: traces, captures, summaries, folders of them; or a memory snapshot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "fleet/rank_summary.h"

namespace stepscope {

struct DiffSide {
  RunSummary run;
  std::vector<std::string> files;  // that were read, folders opened
  std::string wrong;               // what was asked does not fit a file; empty if it does
};

// A folder becomes its files, by name; what is none stays. An Error for an empty folder.
[[nodiscard]] Result<std::vector<std::string>> expand_folders(const std::vector<std::string>& paths);

// Are all, some or none of them memory snapshots? By content; what cannot be opened is none.
enum class SnapshotShare { kNone, kSome, kAll };
[[nodiscard]] SnapshotShare find_snapshots(const std::vector<std::string>& files);

// What cannot be read stands in run.unreadable.
[[nodiscard]] DiffSide read_diff_side(const std::vector<std::string>& files, const TraceOptions& options);

}  // namespace stepscope
