// Where a device would have put the segments of a run that never was.
//
// Of two equally large free blocks the one at the lower address is taken, so addresses matter a little. A segment gets
// an address that a segment of its size had in the recording, in the recorded order, as long as there are any; then one
// that was given back; then the next upwards.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "memory/caching_allocator.h"

namespace stepscope {

class LikelyAddresses final : public AddressSource {
 public:
  // `taken`: bytes and address of each recorded segment, in order.
  explicit LikelyAddresses(std::span<const std::pair<std::int64_t, std::uint64_t>> taken);

  std::uint64_t place_segment(std::int64_t bytes) override;
  std::uint64_t place_reservation(std::int64_t bytes) override;
  void free_segment(std::uint64_t address, std::int64_t bytes) override;
  // Something is there from the start.
  void use(std::uint64_t address) { in_use_.insert(address); }

 private:
  tsl::robin_map<std::int64_t, std::deque<std::uint64_t>, MixedHash> recorded_;
  tsl::robin_map<std::int64_t, std::vector<std::uint64_t>, MixedHash> freed_;
  tsl::robin_set<std::uint64_t, MixedHash> in_use_;
  std::uint64_t next_ = 1ULL << 56;  // above all that a device of today gives
};

}  // namespace stepscope
