// Lists of ranks as runs: 0, 8, 16, ..., 16376 is one of three numbers.
//
// Groups of a mesh are regular, and a run of 16,384 ranks has each rank of them in four or five: as plain lists they
// would be most of a summary.
#pragma once

#include <cstdint>
#include <vector>

namespace stepscope {

// first, first + stride, ..., `count` of them; stride > 0.
struct RankRun {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
};

// `ranks` ascending and distinct. Each run is as long as it can be, from the first rank on.
[[nodiscard]] std::vector<RankRun> make_rank_runs(const std::vector<std::int64_t>& ranks);

}  // namespace stepscope
