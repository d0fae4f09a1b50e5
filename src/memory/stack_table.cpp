// Open addressing with linear steps; the upper half of the hash stands in the slot, so a wrong stack is seldom
// compared.
#include "memory/stack_table.h"

#include <algorithm>

#include "base/hash.h"

namespace stepscope::snapshot_reading {

namespace {

std::uint64_t hash_of(std::span<const SnapshotFrameId> frames) {
  // Two sums side by side, so that one multiplication need not wait for the other.
  std::uint64_t even = frames.size(), odd = 0x9E3779B97F4A7C15ULL;
  std::size_t i = 0;
  for (; i + 1 < frames.size(); i += 2) {
    even = (even ^ frames[i].value) * 0xBF58476D1CE4E5B9ULL;
    even ^= even >> 32;
    odd = (odd ^ frames[i + 1].value) * 0x94D049BB133111EBULL;
    odd ^= odd >> 32;
  }
  if (i < frames.size()) even = (even ^ frames[i].value) * 0xBF58476D1CE4E5B9ULL;
  return MixedHash{}(even ^ (odd << 1));
}

}  // namespace

bool StackTable::equals(SnapshotStackId stack, std::span<const SnapshotFrameId> frames) const {
  if (stacks_.frames_count[stack] != frames.size()) return false;
  return std::equal(frames.begin(), frames.end(), frames_.begin() + stacks_.frames_begin[stack]);
}

void StackTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (!slot.stack.has_value()) continue;
    const std::uint32_t begin = stacks_.frames_begin[slot.stack];
    std::size_t at = hash_of(std::span(frames_).subspan(begin, stacks_.frames_count[slot.stack]));
    while (slots_[at & (slots_.size() - 1)].stack.has_value()) ++at;
    slots_[at & (slots_.size() - 1)] = slot;
  }
}

SnapshotStackId StackTable::find_or_add(std::span<const SnapshotFrameId> frames) {
  const std::uint64_t hash = hash_of(frames);
  const auto upper = static_cast<std::uint32_t>(hash >> 32);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].stack.has_value(); at = (at + 1) & mask) {
    if (slots_[at].hash == upper && equals(slots_[at].stack, frames)) return slots_[at].stack;
  }
  const SnapshotStackId added = stacks_.push_back({.frames_begin = static_cast<std::uint32_t>(frames_.size()),
                                                   .frames_count = static_cast<std::uint32_t>(frames.size())});
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  slots_[at] = {upper, added};
  if (++used_ * 2 > slots_.size()) grow();
  return added;
}

}  // namespace stepscope::snapshot_reading
