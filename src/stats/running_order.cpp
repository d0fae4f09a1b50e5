// A full piece is cut into halves, so pieces stay between half and whole, but for the first one.
#include "stats/running_order.h"

#include <algorithm>

#include "stats/spread.h"

namespace stepscope {
namespace {

// Of a million values some 700 pieces: adding up their sizes costs as much as moving half of a piece.
constexpr std::size_t kMostInPiece = 2048;

}  // namespace

void RunningOrder::add(double value) {
  ++size_;
  if (pieces_.empty()) pieces_.emplace_back();
  auto piece = std::partition_point(pieces_.begin(), pieces_.end() - 1,
                                    [&](const std::vector<double>& each) { return each.back() < value; });
  piece->insert(std::upper_bound(piece->begin(), piece->end(), value), value);
  if (piece->size() < kMostInPiece) return;
  const auto middle = piece->begin() + static_cast<std::ptrdiff_t>(kMostInPiece / 2);
  std::vector<double> upper(middle, piece->end());
  piece->erase(middle, piece->end());
  pieces_.insert(piece + 1, std::move(upper));
}

double RunningOrder::ranked(std::size_t rank) const {
  auto piece = pieces_.begin();
  for (; rank >= piece->size(); ++piece) rank -= piece->size();
  return (*piece)[rank];
}

std::optional<double> RunningOrder::quantile(double q) const {
  return quantile_by_rank(size_, q, [this](std::size_t rank) { return ranked(rank); });
}

}  // namespace stepscope
