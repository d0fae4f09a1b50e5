// Any number of runs comes out as std::sort would have it.
#include "analyze/sort_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepscope {
namespace {

TEST(SortRuns, AnyNumberOfRuns) {
  std::mt19937 random(3);
  for (const std::size_t runs : {0, 1, 2, 3, 5, 63, 64, 65, 300}) {
    std::vector<TimeNs> times;
    for (std::size_t run = 0; run < runs; ++run) {
      TimeNs at = static_cast<TimeNs>(random() % 100);
      for (int i = 0; i < 20; ++i) times.push_back(at += static_cast<TimeNs>(random() % 10));
    }
    std::vector<TimeNs> expected = times;
    std::sort(expected.begin(), expected.end());
    sort_runs(times);
    EXPECT_EQ(times, expected) << runs;
  }
}

}  // namespace
}  // namespace stepscope
