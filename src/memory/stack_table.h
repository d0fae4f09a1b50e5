// Each stack once: lists of frame ids, found by their content.
//
// A snapshot repeats a stack for every entry (14,961 lists, 243 distinct, in one recorded file).
#pragma once

#include <span>
#include <vector>

#include "memory/snapshot.h"

namespace stepscope::snapshot_reading {

class StackTable {
 public:
  StackTable(SnapshotStacks& stacks, std::vector<SnapshotFrameId>& frames) : stacks_(stacks), frames_(frames) {}

  // `frames` must not be empty.
  [[nodiscard]] SnapshotStackId find_or_add(std::span<const SnapshotFrameId> frames);

 private:
  void grow();
  [[nodiscard]] bool equals(SnapshotStackId stack, std::span<const SnapshotFrameId> frames) const;

  struct Slot {
    std::uint32_t hash = 0;
    SnapshotStackId stack;  // empty: free
  };

  SnapshotStacks& stacks_;
  std::vector<SnapshotFrameId>& frames_;
  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half full
  std::size_t used_ = 0;
};

}  // namespace stepscope::snapshot_reading
