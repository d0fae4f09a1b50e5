// Gives every allocation a group: one number and one name for each distinct line, stack, span, ... that is met.
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <vector>

#include "memory/facts.h"
#include "memory/user_frames.h"

namespace stepscope {

class AllocationGroups {
 public:
  AllocationGroups(const MemorySnapshot& snapshot, const MemoryFacts& facts, LiveGrouping by);

  // The group of an allocation, counted from 0 in the order in which groups are met.
  [[nodiscard]] std::uint32_t find(AllocationId allocation);
  [[nodiscard]] const std::string& name(std::uint32_t group) const { return names_[group]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  static constexpr std::uint32_t kUnknownGroup = 0xffffffff;

  std::uint32_t group_named(std::string name);
  std::uint32_t group_of_stack(AllocationId allocation);
  std::uint32_t group_of_forward(SnapshotStackId forward);
  std::uint32_t group_of_module(AllocationId allocation);
  [[nodiscard]] std::string name_stack(SnapshotStackId stack) const;
  [[nodiscard]] std::string name_without_stack(AllocationId allocation) const;
  [[nodiscard]] std::string name_plainly(AllocationId allocation) const;
  [[nodiscard]] std::string name_device(AllocationId allocation) const;
  [[nodiscard]] SnapshotPoolId find_pool(AllocationId allocation) const;
  [[nodiscard]] SnapshotStackId forward_of(AllocationId allocation) const;

  const MemorySnapshot& snapshot_;
  const MemoryFacts& facts_;
  const LiveGrouping by_;
  Column<SnapshotFrameId, FrameOrigin> origins_;
  std::vector<std::uint32_t> group_of_stack_;    // by stack; kUnknownGroup until met
  std::vector<std::uint32_t> group_of_forward_;  // by forward stack, of what backward made without lines of its own
  std::vector<std::string> names_;
  tsl::robin_map<std::string, std::uint32_t> numbers_;
};

}  // namespace stepscope
