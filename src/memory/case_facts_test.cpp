// The invented snapshots of tests/data/memory: their levels, live sets and failures.
#include "memory/facts.h"
#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Case {
  explicit Case(const std::string& name) : snapshot(snapshot_of_file(name)), facts(compute_memory_facts(snapshot)) {}

  [[nodiscard]] const DeviceMemoryFacts& main() const { return facts.devices[facts.main_device]; }
  // start, peak, end in MiB.
  [[nodiscard]] std::array<std::int64_t, 3> level(MemoryLevelKind kind) const {
    const LevelFacts& level = main().levels[static_cast<std::size_t>(kind)];
    return {level.start_bytes / kMiB, level.peak_bytes / kMiB, level.end_bytes / kMiB};
  }
  [[nodiscard]] SnapshotEntryId peak_entry() const {
    return main().levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)].peak_entry;
  }
  MemorySnapshot snapshot;
  MemoryFacts facts;
};

using Levels = std::array<std::int64_t, 3>;

TEST(CaseFacts, BasicInEveryProtocol) {
  for (const std::string protocol : {"2", "3", "4", "5"}) {
    const Case basic("C01_basic_proto" + protocol + ".pickle");
    EXPECT_EQ(basic.level(MemoryLevelKind::kAllocated), (Levels{0, 18, 8}));
    EXPECT_EQ(basic.level(MemoryLevelKind::kReserved), (Levels{0, 20, 20}));
    EXPECT_EQ(basic.peak_entry(), SnapshotEntryId(3));  // the third alloc
    EXPECT_TRUE(basic.main().is_whole_life);
    const auto live = find_live(basic.snapshot, basic.facts, basic.facts.main_device, 4);
    const auto lines = group_live(basic.snapshot, basic.facts, live, LiveGrouping::kLine);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].name, "/work/model.py:41 forward");
    EXPECT_EQ(lines[0].bytes, 18 * kMiB);
    EXPECT_EQ(lines[0].count, 3);
  }
}

TEST(CaseFacts, BeforeHistory) {
  const Case older("C03_before_history.pickle");
  EXPECT_EQ(older.level(MemoryLevelKind::kAllocated), (Levels{14, 19, 12}));
  EXPECT_EQ(older.level(MemoryLevelKind::kReserved), (Levels{20, 20, 20}));
  EXPECT_FALSE(older.main().is_whole_life);
}

TEST(CaseFacts, Expandable) {
  const Case expandable("C06_expandable.pickle");
  EXPECT_EQ(expandable.level(MemoryLevelKind::kAllocated), (Levels{0, 30, 4}));
  EXPECT_EQ(expandable.level(MemoryLevelKind::kReserved), (Levels{0, 40, 20}));
  EXPECT_EQ(expandable.main().cuda_malloc_count, 2);
}

TEST(CaseFacts, NoHistory) {
  const Case silent("C08_no_history.pickle");
  EXPECT_FALSE(silent.main().has_history);
  EXPECT_EQ(silent.level(MemoryLevelKind::kAllocated)[2], 8);
  EXPECT_EQ(silent.level(MemoryLevelKind::kReserved)[2], 20);
}

TEST(CaseFacts, ManyDevices) {
  const Case many("C09_many_devices.pickle");
  EXPECT_EQ(many.snapshot.devices.number[many.facts.main_device], 2);
  EXPECT_EQ(many.level(MemoryLevelKind::kAllocated), (Levels{0, 32, 16}));
  EXPECT_EQ(many.level(MemoryLevelKind::kReserved), (Levels{0, 40, 40}));
  const DeviceMemoryFacts& stray = many.facts.devices[SnapshotDeviceId(0)];
  EXPECT_FALSE(stray.has_history);
  EXPECT_EQ(stray.levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)].end_bytes, kMiB);
  EXPECT_EQ(stray.levels[static_cast<std::size_t>(MemoryLevelKind::kReserved)].end_bytes, 2 * kMiB);
}

TEST(CaseFacts, OomOfFragmentedMemory) {
  const Case failed("C10_oom_fragmented.pickle");
  ASSERT_EQ(failed.main().ooms.size(), 1U);
  const OomFacts& oom = failed.main().ooms[0];
  EXPECT_EQ(oom.request_bytes, 12 * kMiB);
  EXPECT_EQ(oom.reserved_bytes, 60 * kMiB);
  EXPECT_EQ(oom.allocated_bytes, 40 * kMiB);
  EXPECT_EQ(oom.device_free_bytes.value(), kMiB);
  ASSERT_TRUE(oom.fragmentation.has_value());
  EXPECT_EQ(oom.fragmentation->usable.free_bytes, 20 * kMiB);
  EXPECT_EQ(oom.fragmentation->usable.largest_free_bytes, 8 * kMiB);
  EXPECT_EQ(oom.fragmentation->usable.free_piece_count, 3);
  EXPECT_TRUE(oom.is_fragmentation);
}

TEST(CaseFacts, UnknownActionsMoveNothing) {
  const Case unknown("C14_unknown_action.pickle");
  EXPECT_EQ(unknown.level(MemoryLevelKind::kAllocated), (Levels{0, 18, 8}));
}

}  // namespace
}  // namespace stepscope
