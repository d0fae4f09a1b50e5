// The memory timelines that torch itself exported of two recorded runs: creations and destructions are the same rows,
// the levels move alike, and categories agree as often as docs/formats/memory-timeline.md says.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analyze/memory_timeline.h"
#include "recorded/read_gzip.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

struct Golden {
  const char* name;
  std::size_t row_count;            // creations and destructions
  std::size_t agreeing_count;       // rows of the same category
  std::size_t torch_unknown_count;  // of the others, those that torch has no category for
};
std::ostream& operator<<(std::ostream& out, const Golden& one) { return out << one.name; }

class MemoryTimelineGolden : public testing::TestWithParam<Golden> {
 protected:
  const std::string path_ = std::string(STEPSCOPE_TESTS_DIR) + "/data/golden/" + GetParam().name;
  const MemoryTimeline timeline_ =
      compute_memory_timeline(recorded_trace(std::string("golden/") + GetParam().name + ".pt.trace.json.gz"), {});
};

using RowKey = std::tuple<std::int64_t, int, std::int64_t>;  // time, action, bytes

TEST_P(MemoryTimelineGolden, CreationsAndDestructionsAreTorchsOwn) {
  std::multimap<RowKey, int> torchs, ours;
  for (const auto& row : nlohmann::json::parse(read_gzip(path_ + ".memtl.raw.json.gz"))) {
    if (row[1] == 2 || row[1] == 4) torchs.insert({RowKey(row[0], row[1], row[2]), row[3]});
  }
  for (const TimelineRow& row : timeline_.rows) {
    if (row.action == TimelineAction::kPreexisting) continue;
    ours.insert({RowKey(row.time_ns + timeline_.base_ns, static_cast<int>(row.action), row.bytes),
                 static_cast<int>(row.category)});
  }
  ASSERT_EQ(ours.size(), GetParam().row_count);
  ASSERT_EQ(ours.size(), torchs.size());
  std::size_t agreeing = 0, unknown = 0;
  auto torchs_row = torchs.begin();
  for (const auto& [key, category] : ours) {
    ASSERT_EQ(key, torchs_row->first);
    agreeing += category == torchs_row->second ? 1U : 0U;
    const bool is_unknown = torchs_row->second == static_cast<int>(TimelineCategory::kUnknown);
    unknown += category != torchs_row->second && is_unknown ? 1U : 0U;
    ++torchs_row;
  }
  EXPECT_EQ(agreeing, GetParam().agreeing_count);
  EXPECT_EQ(unknown, GetParam().torch_unknown_count);
}

TEST_P(MemoryTimelineGolden, LevelsRiseAndFallLikeTorchs) {
  const nlohmann::json torchs = nlohmann::json::parse(read_gzip(path_ + ".memtl.json.gz"));
  // Torch's change from the first level on, by time; its rows of new versions change no sum.
  std::map<std::int64_t, std::int64_t> rises;
  auto sum = [&](std::size_t at) {
    std::int64_t bytes = 0;
    for (const auto& column : torchs[1][at]) bytes += column.get<std::int64_t>();
    return bytes;
  };
  for (std::size_t i = 0; i < torchs[0].size(); ++i) rises[torchs[0][i]] = sum(i) - sum(0);
  const std::vector<TimelineLevel> levels = compute_timeline_levels(timeline_);
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front().time_us, torchs[0][0].get<std::int64_t>());
  for (const TimelineLevel& level : levels) {
    if (&level == &levels.front()) continue;
    ASSERT_TRUE(rises.contains(level.time_us)) << level.time_us;
    EXPECT_EQ(level.total_bytes() - levels.front().total_bytes(), rises[level.time_us]) << level.time_us;
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, MemoryTimelineGolden,
                         testing::Values(Golden{"conv", 260, 160, 100}, Golden{"enc", 1072, 814, 258}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace stepscope
