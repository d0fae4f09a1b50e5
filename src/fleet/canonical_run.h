// The one order in which the ranks of a run stand, and their encoded forms.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

struct EncodedRank {
  std::optional<std::int64_t> rank;
  std::string payload;
  std::size_t index = 0;  // into the ranks given
};

// What decides the order. Ranks that are unknown come first.
struct RankPlace {
  const std::optional<std::int64_t>& rank;
  std::string_view payload;
};
[[nodiscard]] bool is_before(const RankPlace& a, const RankPlace& b);

// Made to fit (fit_summary), encoded, each distinct one once, in order.
[[nodiscard]] std::vector<EncodedRank> encode_in_order(const std::vector<RankSummary>& ranks);
[[nodiscard]] std::vector<UnreadableRank> unreadable_in_order(std::vector<UnreadableRank> files);

}  // namespace stepscope
