// Distances are kept to the 512 sources before each source, by the newest 2,048: 25 MB at most. What is older has
// nearly always given way to something newer; where not, it is only kept although it might not matter.
#include "fleet/longest_paths.h"

#include <algorithm>

#include "analyze/replay/evaluate.h"

namespace stepscope {
namespace {

constexpr std::uint32_t kKeptDistances = 512;
constexpr std::uint32_t kKeptRows = 2'048;
// A node that this many ways lead to is entangled beyond what can be told apart in time: its ways are all kept.
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

std::uint32_t SourceDistances::add(std::span<const Way> ways) {
  const auto source = static_cast<std::uint32_t>(rows_.size());
  Row row;
  row.first = source - std::min(source, kKeptDistances);
  row.to_here_ns.assign(source - row.first, kUnreached);
  for (const Way& way : ways) {
    if (way.source >= row.first) raise(row.to_here_ns[way.source - row.first], way.length_ns, {});
    const Row& before = rows_[way.source];
    for (std::uint32_t from = std::max(row.first, before.first); from < way.source; ++from) {
      if (from - before.first >= before.to_here_ns.size()) break;  // forgotten
      raise(row.to_here_ns[from - row.first], before.to_here_ns[from - before.first], way.length_ns);
    }
  }
  rows_.push_back(std::move(row));
  if (source >= kKeptRows) rows_[source - kKeptRows].to_here_ns = {};
  return source;
}

const PathLanes* SourceDistances::find(std::uint32_t from, std::uint32_t to) const {
  const Row& row = rows_[to];
  if (from < row.first || from - row.first >= row.to_here_ns.size()) return nullptr;
  return &row.to_here_ns[from - row.first];
}

void SourceDistances::reduce(std::vector<Way>& ways) const {
  if (ways.size() < 2) return;
  merge_by_source(ways);
  if (ways.size() > kMostCompared) return;
  // What makes a way needless stands behind it, so that it is still in place when the way is looked at.
  const Way* const end = ways.data() + ways.size();
  std::erase_if(ways, [&](const Way& way) {
    return std::any_of(&way + 1, end, [&](const Way& newer) {
      const PathLanes* between = find(way.source, newer.source);
      return between && reaches_as_far(*between, newer.length_ns, way.length_ns);
    });
  });
}

}  // namespace stepscope
