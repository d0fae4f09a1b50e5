// Which ways matter, on graphs small enough to see.
#include "fleet/longest_paths.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Way way(std::uint32_t source, DurationNs length) { return {source, {length, length, length}}; }

std::vector<std::uint32_t> sources_of(const std::vector<Way>& ways) {
  std::vector<std::uint32_t> sources;
  for (const Way& each : ways) sources.push_back(each.source);
  return sources;
}

TEST(SourceDistances, OneWayForEachSource) {
  SourceDistances distances;
  distances.add({}, true);
  std::vector<Way> ways{{0, {5, 1, 7}}, {0, {4, 9, 6}}};
  distances.reduce(ways);
  ASSERT_EQ(ways.size(), 1U);
  EXPECT_EQ(ways[0].length_ns, (PathLanes{5, 9, 7}));  // each lane its longest
}

TEST(SourceDistances, AWayThroughANewerSourceMakesOthersNeedless) {
  SourceDistances distances;
  distances.add({}, true);
  const std::vector<Way> to_first{way(0, 10)};
  distances.add(to_first, false);
  std::vector<Way> ways{way(0, 15), way(1, 5)};  // 10 + 5 reach as far
  distances.reduce(ways);
  EXPECT_EQ(sources_of(ways), (std::vector<std::uint32_t>{1}));
  ways = {way(0, 16), way(1, 5)};  // 1 farther by itself
  distances.reduce(ways);
  EXPECT_EQ(sources_of(ways), (std::vector<std::uint32_t>{0, 1}));
  ways = {{0, {15, 15, 16}}, way(1, 5)};  // farther in one lane
  distances.reduce(ways);
  EXPECT_EQ(sources_of(ways), (std::vector<std::uint32_t>{0, 1}));
}

TEST(SourceDistances, FarSourcesAreToldFromAnchorsOnly) {
  for (const bool is_anchor : {false, true}) {
    SourceDistances distances;
    distances.add({}, true);
    const std::vector<Way> first{way(0, 1)};
    distances.add(first, is_anchor);
    std::uint32_t last = 1;
    for (int k = 0; k < 1'000; ++k) {
      const std::vector<Way> next{way(last, 1)};
      last = distances.add(next, false);
    }
    std::vector<Way> ways{way(0, 500), way(1, 500), way(last, 0)};
    distances.reduce(ways);
    const auto kept = is_anchor ? std::vector<std::uint32_t>{last} : std::vector<std::uint32_t>{1, last};
    EXPECT_EQ(sources_of(ways), kept);
  }
}

}  // namespace
}  // namespace stepscope
