// Sets of summaries: sorted and distinct by what is encoded, so that equal is what a reader cannot tell apart.
#include "fleet/canonical_run.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/parallel.h"
#include "fleet/fit_summary.h"
#include "fleet/summary_file.h"
#include "fleet/summary_payload.h"

namespace stepscope {

bool is_before(const RankPlace& a, const RankPlace& b) {
  return std::tie(a.rank, a.payload) < std::tie(b.rank, b.payload);
}

std::vector<EncodedRank> encode_in_order(const std::vector<RankSummary>& ranks) {
  std::vector<EncodedRank> encoded(ranks.size());
  parallel_for(ranks.size(), 0, [&](std::size_t i) {
    RankSummary fitting = ranks[i];
    encoded[i] = {fitting.rank, fit_and_encode(fitting), i};
  });
  std::sort(encoded.begin(), encoded.end(), [](const EncodedRank& a, const EncodedRank& b) {
    return is_before({a.rank, a.payload}, {b.rank, b.payload});
  });
  const auto is_same = [](const EncodedRank& a, const EncodedRank& b) { return a.payload == b.payload; };
  encoded.erase(std::unique(encoded.begin(), encoded.end(), is_same), encoded.end());
  return encoded;
}

std::vector<UnreadableRank> unreadable_in_order(std::vector<UnreadableRank> files) {
  for (UnreadableRank& file : files) fit_unreadable(file);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

RunSummary merge_summaries(std::vector<RunSummary> parts) {
  RunSummary all;
  for (RunSummary& part : parts) {
    std::move(part.ranks.begin(), part.ranks.end(), std::back_inserter(all.ranks));
    std::move(part.unreadable.begin(), part.unreadable.end(), std::back_inserter(all.unreadable));
  }
  RunSummary merged;
  for (const EncodedRank& rank : encode_in_order(all.ranks)) {
    merged.ranks.push_back(std::move(all.ranks[rank.index]));
    fit_summary(merged.ranks.back());
  }
  merged.unreadable = unreadable_in_order(std::move(all.unreadable));
  return merged;
}

}  // namespace stepscope
