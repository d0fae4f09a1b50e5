// Writes a memory snapshot: as the pickle that PyTorch writes (memory_viz, pickle.loads and our own reader open it), or
// as JSON of the same tree.
//
// What the columns keep is written and nothing else: keys of newer versions, names of unknown actions and the host's
// segments are gone (docs/formats/memory-snapshot.md). A key whose value is missing is left out, but for the line of a
// frame, which torch itself writes as 2^64-1 when it has none. Written and read again it is the same snapshot.
//
// The pickle has protocol 4 and only opcodes that carry data. Each frame, stack and string stands in it once and is
// referred to from then on: files become smaller than torch's own, which repeats the list of a stack with each entry.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "memory/snapshot.h"

namespace stepscope {

enum class SnapshotShape { kPickle, kJson };

struct SnapshotWriteOptions {
  // Of each device only the newest so many entries. A device that loses any is then marked as cut, as torch's ring is:
  // trace_alloc_max_entries becomes this number.
  std::optional<std::size_t> max_entries;
};

// Takes the bytes in pieces, in order; an error stops the writing and is handed through.
using TakeSnapshotBytes = std::function<Status(std::string_view piece)>;

[[nodiscard]] Status write_snapshot(const MemorySnapshot& snapshot, SnapshotShape shape,
                                    const SnapshotWriteOptions& options, const TakeSnapshotBytes& take);

}  // namespace stepscope
