// Facts of snapshots recorded on an H200 against torch.cuda.memory_stats() of the same run, to the byte. What the
// program did: tests/data/memory/README.md.
#include <gtest/gtest.h>

#include "import/bytes/byte_source.h"
#include "memory/facts.h"
#include "memory/snapshot_reader.h"

namespace stepscope {
namespace {

struct RecordedSnapshot {
  explicit RecordedSnapshot(const std::string& name) {
    auto bytes = open_bytes(std::string(STEPSCOPE_TESTS_DIR) + "/data/memory/h200/" + name, false);
    EXPECT_TRUE(bytes) << name;
    if (!bytes) return;
    auto read = read_snapshot(name, [&](char* into, std::size_t size) { return (*bytes)->read(into, size); });
    EXPECT_TRUE(read) << name;
    if (!read) return;
    snapshot = std::move(*read);
    facts = compute_memory_facts(snapshot);
  }
  [[nodiscard]] const DeviceMemoryFacts& device() const { return facts.devices[facts.main_device]; }
  [[nodiscard]] const LevelFacts& level(MemoryLevelKind kind) const {
    return device().levels[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::vector<LiveGroup> peak_by(LiveGrouping by) const {
    const std::size_t moment = moment_after(snapshot, facts.main_device, level(MemoryLevelKind::kAllocated).peak_entry);
    return group_live(snapshot, facts, find_live(snapshot, facts, facts.main_device, moment), by);
  }
  MemorySnapshot snapshot;
  MemoryFacts facts;
};

TEST(RecordedMemory, PeaksAreThoseOfTorchByDefault) {
  const RecordedSnapshot failed("snap.oom.pickle.gz");
  EXPECT_EQ(failed.level(MemoryLevelKind::kReserved).peak_bytes, 3001024512);
  EXPECT_EQ(failed.level(MemoryLevelKind::kAllocated).peak_bytes, 2896768512);  // by rounding alone: 2,891,637,248
  EXPECT_EQ(failed.level(MemoryLevelKind::kRequested).peak_bytes, 2891536444);
  EXPECT_TRUE(failed.device().is_whole_life);
  EXPECT_EQ(failed.device().estimated_size_count, 0);
}

TEST(RecordedMemory, PeaksAreThoseOfTorchWithExpandableSegments) {
  const RecordedSnapshot failed("snapx.oom.pickle.gz");
  EXPECT_EQ(failed.level(MemoryLevelKind::kReserved).peak_bytes, 3001024512);
  EXPECT_EQ(failed.level(MemoryLevelKind::kAllocated).peak_bytes, 2232615936);
  EXPECT_EQ(failed.level(MemoryLevelKind::kRequested).peak_bytes, 2232614920);
  EXPECT_EQ(failed.device().contradiction_count, 0);
}

TEST(RecordedMemory, EndsAreThoseOfTorch) {
  for (const auto& [name, reserved] :
       {std::pair("snap.pickle.gz", 2975858688), std::pair("snapx.pickle.gz", 2413821952)}) {
    const RecordedSnapshot first(name);
    EXPECT_EQ(first.level(MemoryLevelKind::kReserved).end_bytes, reserved) << name;
    EXPECT_EQ(first.level(MemoryLevelKind::kAllocated).end_bytes, 504561664) << name;
  }
}

TEST(RecordedMemory, FailuresNameTheirRequestAndTheFreePieces) {
  const RecordedSnapshot failed("snapx.oom.pickle.gz");
  ASSERT_EQ(failed.device().ooms.size(), 1U);
  const OomFacts& oom = failed.device().ooms[0];
  EXPECT_EQ(oom.request_bytes, 6076928);
  ASSERT_TRUE(oom.fragmentation.has_value());
  EXPECT_LT(oom.fragmentation->usable.largest_free_bytes, oom.request_bytes);
  EXPECT_EQ(oom.fragmentation->usable.free_bytes + oom.fragmentation->in_other_size_class_bytes,
            oom.reserved_bytes - oom.allocated_bytes);
  EXPECT_TRUE(oom.is_fragmentation);
}

// Six steps told by the optimizer's annotation; the batch of the fifth is four times as large.
TEST(RecordedMemory, TheHighestStepIsTheOneWithTheLargeBatch) {
  for (const std::string name : {"snap.pickle.gz", "snapx.pickle.gz"}) {
    const RecordedSnapshot recorded(name);
    const MemorySteps& steps = recorded.facts.steps[recorded.facts.main_device];
    EXPECT_EQ(steps.name, "Optimizer.step#Adam.step");
    ASSERT_EQ(steps.peak_bytes.size(), 6U);
    const auto comparison =
        compare_steps(recorded.snapshot, recorded.facts, recorded.facts.main_device, LiveGrouping::kLine);
    ASSERT_TRUE(comparison.has_value());
    EXPECT_EQ(comparison->peak_step, 4U);
    ASSERT_FALSE(comparison->differences.empty());
    EXPECT_EQ(comparison->differences[0].name, "/work/steering/lab/snap.py:8 forward");  // x = relu(l(x))
  }
}

// 8 linear layers of 2048 x 2048 and their biases in float32; Adam keeps two of each.
TEST(RecordedMemory, ParametersAndOptimizerStateAreToldToTheByte) {
  constexpr std::int64_t kParameters = 8 * (2048 * 2048 + 2048) * 4;
  for (const std::string name : {"snap.pickle.gz", "snapx.pickle.gz"}) {
    const RecordedSnapshot recorded(name);
    std::int64_t parameters = 0;
    std::int64_t states = 0;
    for (const LiveGroup& group : recorded.peak_by(LiveGrouping::kCategory)) {
      if (group.name == "parameter") parameters = group.bytes;
      if (group.name == "optimizer state") states = group.bytes;
    }
    EXPECT_EQ(parameters, kParameters) << name;
    EXPECT_EQ(states, 2 * kParameters) << name;
  }
}

}  // namespace
}  // namespace stepscope
