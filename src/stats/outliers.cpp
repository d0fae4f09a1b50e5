// One median and one pass.
#include "stats/outliers.h"

#include <algorithm>

#include "stats/quantiles.h"

namespace stepscope {

Outliers find_outliers(std::span<const std::int64_t> lengths_ns, std::size_t first) {
  Outliers found;
  if (first >= lengths_ns.size()) return found;
  const auto longest = std::max_element(lengths_ns.begin() + static_cast<std::ptrdiff_t>(first), lengths_ns.end());
  found.longest = static_cast<std::size_t>(longest - lengths_ns.begin());
  if (lengths_ns.size() < kFewestForOutliers) return found;
  std::vector<std::int64_t> others(lengths_ns.begin(), lengths_ns.end());
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(found.longest));
  found.typical_ns = median_ns(others).value_or(0);
  if (found.typical_ns <= 0) return found;
  // As doubles: of a damaged file's lengths the limit may lie beyond an int64.
  const double limit_ns = kOutlierRatio * static_cast<double>(found.typical_ns);
  for (std::size_t index = first; index < lengths_ns.size(); ++index) {
    if (static_cast<double>(lengths_ns[index]) >= limit_ns) found.indices.push_back(index);
  }
  return found;
}

}  // namespace stepscope
