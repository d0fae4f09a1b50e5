// A rank's summary as bytes without frame and compression, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/rank_summary.h"

namespace stepscope {

// What is written; every version up to it is read.
inline constexpr std::uint32_t kSummaryVersion = 6;

// Of a summary that fits (fit_summary). Equal summaries give equal bytes.
[[nodiscard]] std::string encode_rank(const RankSummary& rank);

// Memory that reading may still take, whatever the bytes claim.
struct DecodeBudget {
  std::uint64_t left_bytes = 0;
};
// What is wrong in words, with the byte of the payload; the caller adds the file.
[[nodiscard]] Result<RankSummary> decode_rank(std::string_view payload, DecodeBudget& budget,
                                              std::uint32_t version = kSummaryVersion);

[[nodiscard]] std::string encode_unreadable(const UnreadableRank& file);
[[nodiscard]] Result<UnreadableRank> decode_unreadable(std::string_view payload, DecodeBudget& budget,
                                                       std::uint32_t version = kSummaryVersion);

}  // namespace stepscope
