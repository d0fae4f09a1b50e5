// What a summary can hold: the most of everything, so that any trace fits its file and no file takes much memory.
//
// The lists are longer than recordings need (a step of a large transformer has some 150 kinds of GPU work, 100
// operators and a few hundred collectives); fit_summary.h shortens them where numbers do not compress. Lengths and
// times are bounded so that no sum over a summary overflows: 52 days a length, 1,024 of them in a list.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/group_ranks.h"

namespace stepscope {

inline constexpr std::size_t kMostSummarySteps = 1024;
inline constexpr std::size_t kMostWorkRows = 512;
inline constexpr std::size_t kMostOperatorRows = 256;
inline constexpr std::size_t kMostSummaryFindings = 64;
inline constexpr std::size_t kMostFindingTexts = 12;  // sentences of evidence, and of advice, of one finding
inline constexpr std::size_t kMostSummaryGroups = 1024;
inline constexpr std::size_t kMostCollectiveNames = 256;
inline constexpr std::size_t kMostSummaryCollectives = 16'384;
inline constexpr std::size_t kMostRankRuns = 16'384;  // of all groups' lists of ranks together (RankRun)
inline constexpr std::size_t kMostGroupRanks = kMostListedRanks;
inline constexpr std::size_t kMostStepsLeftOut = 1024;
inline constexpr std::size_t kMostOwnStops = 1024;
inline constexpr std::size_t kMostMissingSteps = 1024;  // ranges of numbers
inline constexpr std::size_t kMostReplayPoints = std::size_t{1} << 16;
inline constexpr std::size_t kMostReplayEdges = std::size_t{1} << 18;
inline constexpr std::size_t kMostSummaryTextBytes = 512;  // longer texts are cut and end in a hash of the whole
inline constexpr std::int64_t kMostLengthNs = std::int64_t{1} << 52;
inline constexpr std::int64_t kMostTimeNs = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostSummaryBytes = std::int64_t{1} << 52;  // more than any memory has

inline constexpr std::size_t kSummaryFrameBytes = 32 + 24;  // headers of a file with one rank

}  // namespace stepscope
