// What the files of one side of `stepscope diff` are: recordings of steps, or memory snapshots.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

// Are all, some or none of them memory snapshots? By content; what cannot be opened, or only once, is none.
enum class SnapshotShare { kNone, kSome, kAll };
[[nodiscard]] SnapshotShare find_snapshots(const std::vector<std::string>& files);

}  // namespace stepscope
