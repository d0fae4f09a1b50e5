// The same lists and dicts from JSON, as programs write that open a pickle and dump it again.
#pragma once

#include "memory/byte_window.h"
#include "memory/snapshot_tree.h"

namespace stepscope::snapshot_reading {

// The outermost object. A text that ends early is closed as it is, with a kFileCut note; other damage is an Error with
// its offset.
[[nodiscard]] Result<Value> read_json(ByteWindow& window, SnapshotTree& tree, Notes& notes);

}  // namespace stepscope::snapshot_reading
