// The newest 2,048 sources keep their distances from the 512 before them and from 512 anchors: 50 MB at most. What is
// older has nearly always given way to something newer; where not, it is only kept although it might not matter.
#include "fleet/longest_paths.h"

#include <algorithm>

#include "analyze/replay/evaluate.h"

namespace stepscope {
namespace {

constexpr std::uint32_t kKeptDistances = 512;
constexpr std::uint32_t kKeptRows = 2'048;
constexpr std::uint32_t kMostAnchors = 512;
// So many ways are looked at for one that makes another needless: beyond, a node is entangled past telling apart in
// time.
constexpr std::size_t kMostCompared = 256;

constexpr PathLanes kUnreached = {kNever, kNever, kNever};

void raise(PathLanes& to, const PathLanes& from, const PathLanes& by) {
  for (std::size_t lane = 0; lane < kPathLanes; ++lane) to[lane] = std::max(to[lane], from[lane] + by[lane]);
}

bool reaches_as_far(const PathLanes& to_source, const PathLanes& from_source, const PathLanes& direct) {
  for (std::size_t lane = 0; lane < kPathLanes; ++lane) {
    if (to_source[lane] + from_source[lane] < direct[lane]) return false;
  }
  return true;
}

void merge_by_source(std::vector<Way>& ways) {
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.source < b.source; });
  std::size_t kept = 0;
  for (std::size_t w = 1; w < ways.size(); ++w) {
    if (ways[w].source == ways[kept].source) {
      raise(ways[kept].length_ns, ways[w].length_ns, {});
    } else {
      ways[++kept] = ways[w];
    }
  }
  if (!ways.empty()) ways.resize(kept + 1);
}

}  // namespace

void SourceDistances::take_way(const Way& way, const Row& before, Row& row) {
  if (way.source >= row.first) raise(row.near[way.source - row.first], way.length_ns, {});
  for (std::uint32_t from = std::max(row.first, before.first); from < way.source; ++from) {
    if (from - before.first >= before.near.size()) break;  // forgotten
    raise(row.near[from - row.first], before.near[from - before.first], way.length_ns);
  }
  if (before.anchor != kNoAnchor) raise(row.from_anchor[before.anchor], way.length_ns, {});
  for (std::size_t anchor = 0; anchor < before.from_anchor.size(); ++anchor) {
    raise(row.from_anchor[anchor], before.from_anchor[anchor], way.length_ns);
  }
}

std::uint32_t SourceDistances::add(std::span<const Way> ways, bool is_anchor) {
  const auto source = static_cast<std::uint32_t>(rows_.size());
  Row row;
  row.first = source - std::min(source, kKeptDistances);
  row.near.assign(source - row.first, kUnreached);
  row.from_anchor.assign(anchor_count_, kUnreached);
  for (const Way& way : ways) take_way(way, rows_[way.source], row);
  if (is_anchor && anchor_count_ < kMostAnchors) row.anchor = anchor_count_++;
  rows_.push_back(std::move(row));
  if (source >= kKeptRows) {
    rows_[source - kKeptRows].near = {};
    rows_[source - kKeptRows].from_anchor = {};
  }
  return source;
}

const PathLanes* SourceDistances::find(std::uint32_t from, std::uint32_t to) const {
  const Row& row = rows_[to];
  if (from >= row.first && from - row.first < row.near.size()) return &row.near[from - row.first];
  const std::uint32_t anchor = rows_[from].anchor;
  return anchor < row.from_anchor.size() ? &row.from_anchor[anchor] : nullptr;
}

void SourceDistances::reduce(std::vector<Way>& ways) const {
  if (ways.size() < 2) return;
  merge_by_source(ways);
  // From the newest on: what makes a way needless is newer, and is itself kept or gave way to one that is.
  std::size_t first = ways.size() - 1;
  for (std::size_t w = ways.size() - 1; w-- > 0;) {
    const Way way = ways[w];
    const std::size_t compared = std::min(ways.size(), first + kMostCompared);
    const bool is_needless = std::any_of(&ways[first], ways.data() + compared, [&](const Way& newer) {
      const PathLanes* between = find(way.source, newer.source);
      return between && reaches_as_far(*between, newer.length_ns, way.length_ns);
    });
    if (!is_needless) ways[--first] = way;
  }
  ways.erase(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace stepscope
