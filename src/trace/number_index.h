// Finds rows by a number of the file (correlation, external id), scoped by process.
//
// The numbers of one process are nearly dense, so a plain array answers in one load; a hash map serves only when
// they are not (a hostile or odd file could otherwise ask for terabytes).
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "base/id.h"

namespace stepscope {

template <class RowId>
class NumberIndex {
 public:
  // number(id) -> MaybeInt. The first row of a number wins; `rows` in table order.
  template <class Number>
  static NumberIndex build(const std::vector<RowId>& rows, Number number) {
    NumberIndex index;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    std::size_t count = 0;
    for (RowId id : rows) {
      const MaybeInt each = number(id);
      if (!each.has_value()) continue;
      least = std::min(least, each.value());
      most = std::max(most, each.value());
      ++count;
    }
    if (count == 0) return index;
    constexpr std::uint64_t kSlotsPerRow = 8;  // sparser than this, a map is smaller
    constexpr std::uint64_t kFewSlots = 64;    // always good enough; a file may have a million processes
    const std::uint64_t width = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    index.dense_ = width < kSlotsPerRow * count + kFewSlots;
    index.least_ = least;
    if (index.dense_) index.slots_.resize(width + 1);
    for (RowId id : rows) {
      const MaybeInt each = number(id);
      if (!each.has_value()) continue;
      if (!index.dense_) {
        index.map_.try_emplace(each.value(), id);
      } else if (RowId& slot =
                     index.slots_[static_cast<std::uint64_t>(each.value()) - static_cast<std::uint64_t>(least)];
                 !slot.has_value()) {
        slot = id;
      }
    }
    return index;
  }

  [[nodiscard]] RowId find(MaybeInt number) const {
    if (!number.has_value()) return {};
    if (dense_) {
      const std::uint64_t slot = static_cast<std::uint64_t>(number.value()) - static_cast<std::uint64_t>(least_);
      return slot < slots_.size() ? slots_[slot] : RowId{};
    }
    const auto found = map_.find(number.value());
    return found == map_.end() ? RowId{} : found->second;
  }

 private:
  bool dense_ = false;
  std::int64_t least_ = 0;
  std::vector<RowId> slots_;
  tsl::robin_map<std::int64_t, RowId, MixedHash> map_;
};

}  // namespace stepscope
