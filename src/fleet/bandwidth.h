// Bus bandwidth of collectives that were met: what a transfer should take.
#pragma once

#include <map>
#include <string>

#include "fleet/meetings.h"

namespace stepscope {

// Best bandwidth by kind and number of ranks, over collectives of at least 1 MB (smaller ones are bound by latency),
// or over all where all are smaller.
class BestBandwidth {
 public:
  [[nodiscard]] std::optional<double> of(std::uint32_t kind, std::size_t rank_count) const;
  void add(std::uint32_t kind, std::size_t rank_count, double bytes, double bytes_per_s);

 private:
  struct Best {
    double large = 0, any = 0;
  };
  std::map<std::pair<std::uint32_t, std::size_t>, Best> best_;
};

// Ranks of the group as the file says, else those that came.
[[nodiscard]] std::size_t size_of_group(const FleetGroup& group);

// Fills facts.bandwidths.
[[nodiscard]] BestBandwidth measure_bandwidths(const Meetings& meetings, FleetFacts& facts);

}  // namespace stepscope
