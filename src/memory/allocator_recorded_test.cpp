// Against recordings of a real allocator, whose true numbers (torch.cuda.memory_stats of the same run) are written
// here.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <random>

#include "memory/allocator_simulation.h"
#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

// The tests' recordings are compressed, and opening gzip is another room's work.
std::string recorded_bytes(const std::string& name) {
  const std::string command = "gzip -dc '" STEPSCOPE_TESTS_DIR "/data/memory/h200/" + name + ".pickle.gz'";
  std::string bytes;
  std::FILE* pipe = popen(command.c_str(), "r");
  char part[1 << 16];
  for (std::size_t size = 0; pipe != nullptr && (size = std::fread(part, 1, sizeof part, pipe)) > 0;) {
    bytes.append(part, size);
  }
  if (pipe != nullptr) pclose(pipe);
  return bytes;
}

MemorySnapshot read_recording(const std::string& bytes) {
  auto snapshot = read_snapshot_bytes(bytes);
  EXPECT_TRUE(snapshot.has_value());
  return snapshot.has_value() ? std::move(*snapshot) : MemorySnapshot();
}

MemorySnapshot recording(const std::string& name) { return read_recording(recorded_bytes(name)); }

constexpr SnapshotDeviceId kDevice(0);
const AllocatorConfig kDefault;
AllocatorConfig expandable() {
  AllocatorConfig config;
  config.expandable_segments = true;
  return config;
}

// set_per_process_memory_fraction(0.02) of a device of 150,109,880,320 bytes.
constexpr std::int64_t kCap = 3'002'197'606;

void expect_proof(const std::string& name, std::int64_t allocations, std::int64_t device_calls) {
  const ReplayProof proof = replay_recorded(recording(name), kDevice);
  EXPECT_TRUE(proof.is_proven()) << name << ": " << proof.first_mismatch;
  EXPECT_EQ(proof.matched, allocations) << name;
  EXPECT_EQ(proof.total, allocations) << name;
  EXPECT_EQ(proof.device_call_matched, device_calls) << name;
  EXPECT_EQ(proof.device_call_total, device_calls) << name;
}

TEST(AllocatorRecorded, ReplaysEveryAddress) {
  expect_proof("snap", 591, 53);
  expect_proof("snapx", 591, 47);
}

TEST(AllocatorRecorded, ReplaysThroughRetriesAndTheOom) {
  expect_proof("snap.oom", 1378, 56);
  expect_proof("snapx.oom", 1110, 77);
}

TEST(AllocatorRecorded, ForecastsExpandableSegmentsFromTheDefault) {
  const AllocatorRun run = simulate_allocator(recording("snap"), kDevice, expandable(), {});
  EXPECT_EQ(run.reserved_peak_bytes, 2'413'821'952);
  EXPECT_FALSE(run.oom);
}

TEST(AllocatorRecorded, ForecastsTheDefaultFromExpandableSegments) {
  const AllocatorRun run = simulate_allocator(recording("snapx"), kDevice, kDefault, {});
  EXPECT_EQ(run.reserved_peak_bytes, 2'975'858'688);
  EXPECT_EQ(run.cuda_malloc_count, 53);
  EXPECT_FALSE(run.oom);
}

TEST(AllocatorRecorded, GivesTheRecordedNumbersUnderTheRecordedSettings) {
  const AllocatorRun plain = simulate_allocator(recording("snap"), kDevice, kDefault, {});
  EXPECT_EQ(plain.reserved_peak_bytes, 2'975'858'688);
  EXPECT_EQ(plain.cuda_malloc_count, 53);
  const AllocatorRun grown = simulate_allocator(recording("snapx"), kDevice, expandable(), {});
  EXPECT_EQ(grown.reserved_peak_bytes, 2'413'821'952);
}

TEST(AllocatorRecorded, RunsOutOfMemoryWhereTheRealOneDid) {
  const MemorySnapshot snapshot = recording("snap.oom");
  const AllocatorRun run = simulate_allocator(snapshot, kDevice, kDefault, kCap);
  ASSERT_TRUE(run.oom);
  EXPECT_EQ(snapshot.entries.action[run.oom->entry], AllocatorAction::kOom);
  EXPECT_EQ(run.oom->request_bytes, 6'116'864);
  EXPECT_EQ(run.reserved_peak_bytes, 3'001'024'512);
  EXPECT_EQ(run.allocated_peak_bytes, 2'896'768'512);
  EXPECT_EQ(run.requested_peak_bytes, 2'891'536'444);
  EXPECT_EQ(run.retries, 2);
  EXPECT_EQ(run.cuda_malloc_count, 55) << "54 segments at the end, one was released";
}

TEST(AllocatorRecorded, RunsOutOfMemoryWithExpandableSegmentsWhereTheRealOneDid) {
  const MemorySnapshot snapshot = recording("snapx.oom");
  const AllocatorRun run = simulate_allocator(snapshot, kDevice, expandable(), kCap);
  ASSERT_TRUE(run.oom);
  EXPECT_EQ(snapshot.entries.action[run.oom->entry], AllocatorAction::kOom);
  EXPECT_EQ(run.oom->request_bytes, 6'076'928);
  EXPECT_EQ(run.reserved_peak_bytes, 3'001'024'512);
  EXPECT_EQ(run.allocated_peak_bytes, 2'232'615'936);
  EXPECT_EQ(run.requested_peak_bytes, 2'232'614'920);
  EXPECT_EQ(run.retries, 2);
}

// What was reserved is a capacity under which the same happens, though the true cap lay a little above.
TEST(AllocatorRecorded, FindsTheCapacityThatWasRefused) {
  for (const char* name : {"snap.oom", "snapx.oom"}) {
    const MemorySnapshot snapshot = recording(name);
    const auto capacity = recorded_capacity(snapshot, kDevice);
    ASSERT_EQ(capacity, 3'001'024'512) << name;
    const AllocatorConfig config = recorded_allocator_config(snapshot);
    const AllocatorRun run = simulate_allocator(snapshot, kDevice, config, capacity);
    const AllocatorRun capped = simulate_allocator(snapshot, kDevice, config, kCap);
    ASSERT_TRUE(run.oom && capped.oom) << name;
    EXPECT_EQ(run.oom->entry, capped.oom->entry) << name;
    EXPECT_EQ(run.retries, capped.retries) << name;
  }
  EXPECT_FALSE(recorded_capacity(recording("snap"), kDevice)) << "no oom, no capacity";
}

TEST(AllocatorRecorded, TheLeastCapacityServesAndTheNextLowerDoesNot) {
  for (const char* name : {"snap.oom", "snapx.oom"}) {
    const MemorySnapshot snapshot = recording(name);
    for (const AllocatorConfig& config : {kDefault, expandable()}) {
      const auto least = find_least_capacity(snapshot, kDevice, config);
      ASSERT_TRUE(least);
      EXPECT_FALSE(simulate_allocator(snapshot, kDevice, config, *least).oom) << name;
      EXPECT_TRUE(simulate_allocator(snapshot, kDevice, config, *least - kMiB).oom) << name;
    }
  }
}

TEST(AllocatorRecorded, RanksWhatServesFirstAndNoCachingLast) {
  const MemorySnapshot snapshot = recording("snapx.oom");
  const auto capacity = recorded_capacity(snapshot, kDevice);
  const std::vector<AllocatorWhatIf> ranked = rank_settings(snapshot, kDevice, capacity);
  ASSERT_GE(ranked.size(), 15U);
  EXPECT_EQ(ranked.back().settings, "no_caching");
  for (std::size_t i = 0; i + 2 < ranked.size(); ++i) {
    const AllocatorRun &a = ranked[i].run, &b = ranked[i + 1].run;
    EXPECT_LE(a.oom.has_value(), b.oom.has_value()) << ranked[i + 1].settings;
    if (a.oom.has_value() == b.oom.has_value()) {
      EXPECT_LE(a.reserved_peak_bytes, b.reserved_peak_bytes) << ranked[i + 1].settings;
    }
    const AllocatorRun alone = simulate_allocator(snapshot, kDevice, ranked[i].config, capacity);
    EXPECT_EQ(alone.reserved_peak_bytes, a.reserved_peak_bytes) << ranked[i].settings;
  }
}

TEST(AllocatorRecorded, KnowsTheTrueSizeOfBlocks) {
  const MemorySnapshot snapshot = recording("snap.oom");
  const std::vector<std::int64_t> sizes = replay_block_sizes(snapshot, kDevice);
  ASSERT_EQ(sizes.size(), snapshot.entries.size());
  std::int64_t whole_count = 0;
  for (const SnapshotEntryId entry : snapshot.entries.ids().ids()) {
    if (snapshot.entries.action[entry] != AllocatorAction::kAlloc) {
      EXPECT_EQ(sizes[entry.value], 0);
      continue;
    }
    const std::int64_t rounded = round_request(kDefault, snapshot.entries.size_bytes[entry]);
    EXPECT_GE(sizes[entry.value], rounded);
    EXPECT_LE(sizes[entry.value], rounded + kMiB);
    whole_count += sizes[entry.value] > rounded ? 1 : 0;
  }
  EXPECT_GT(whole_count, 0) << "rounding alone would do";
}

// A recording that was changed is not proven, and says where.
TEST(AllocatorRecorded, DoesNotProveWhatIsNotSo) {
  MemorySnapshot snapshot = recording("snap");
  const std::size_t middle = snapshot.entries.size() / 2;
  SnapshotEntryId changed;
  for (std::size_t i = middle; i < snapshot.entries.size() && !changed.has_value(); ++i) {
    if (snapshot.entries.action[SnapshotEntryId(i)] == AllocatorAction::kAlloc) changed = SnapshotEntryId(i);
  }
  snapshot.entries.size_bytes[changed] += 30 * kMiB;
  const ReplayProof proof = replay_recorded(snapshot, kDevice);
  EXPECT_FALSE(proof.is_proven());
  EXPECT_LT(proof.matched, proof.total);
  EXPECT_NE(proof.first_mismatch.find("entry #" + std::to_string(changed.value)), std::string::npos)
      << proof.first_mismatch;
  for (const std::int64_t size : replay_block_sizes(snapshot, kDevice)) EXPECT_EQ(size, 0);
}

// Random fields of random rows become something else, also what no allocator would do.
void damage(MemorySnapshot& snapshot, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const auto odd_bytes = [&]() -> std::int64_t {
    const std::int64_t choices[] = {0,
                                    1,
                                    512,
                                    2 * kMiB,
                                    20 * kMiB,
                                    std::numeric_limits<std::int64_t>::max(),
                                    static_cast<std::int64_t>(random() >> 1),
                                    static_cast<std::int64_t>(below(1 << 30))};
    return choices[below(std::size(choices))];
  };
  const SnapshotEntryId entry(below(snapshot.entries.size())), other(below(snapshot.entries.size()));
  const SnapshotSegmentId segment(below(snapshot.segments.size()));
  const SnapshotBlockId block(below(snapshot.blocks.size()));
  switch (below(10)) {
    case 0:
      snapshot.entries.action[entry] = static_cast<AllocatorAction>(below(11));
      break;
    case 1:
      snapshot.entries.address[entry] = below(2) == 0 ? random() : snapshot.entries.address[other];
      break;
    case 2:
      snapshot.entries.size_bytes[entry] = odd_bytes();
      break;
    case 3:
      snapshot.entries.stream[entry] = {};
      break;
    case 4:
      snapshot.entries.pool[entry] = SnapshotPoolId(below(snapshot.pools.size()));
      break;
    case 5:
      snapshot.segments.total_bytes[segment] = odd_bytes();
      break;
    case 6:
      snapshot.segments.address[segment] = below(2) == 0 ? random() : snapshot.entries.address[entry];
      break;
    case 7:
      snapshot.segments.is_expandable[segment] ^= 1;
      break;
    case 8:
      snapshot.blocks.size_bytes[block] = odd_bytes();
      break;
    default:
      snapshot.blocks.state[block] = static_cast<BlockState>(below(3));
      break;
  }
}

TEST(AllocatorRecorded, SurvivesDamagedRecordings) {
  for (const char* name : {"snap.oom", "snapx.oom"}) {
    const std::string bytes = recorded_bytes(name);
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      std::mt19937_64 random(seed);
      MemorySnapshot snapshot = read_recording(bytes);
      snapshot.pools.push_back({0, 7});
      for (std::uint32_t i = 0; i < 1 + seed % 40; ++i) damage(snapshot, random);
      const ReplayProof proof = replay_recorded(snapshot, kDevice);
      EXPECT_LE(proof.matched, proof.total);
      const auto capacity = recorded_capacity(snapshot, kDevice);
      const AllocatorSimulation simulation(snapshot, kDevice);
      for (const AllocatorConfig& config : {kDefault, expandable(), recorded_allocator_config(snapshot)}) {
        const AllocatorRun run = simulation.run(config, capacity);
        EXPECT_LE(run.allocated_peak_bytes, run.reserved_peak_bytes);
        EXPECT_LE(run.requested_peak_bytes, run.reserved_peak_bytes);
      }
    }
  }
}

TEST(AllocatorRecorded, SurvivesEveryCaseAndHostileFile) {
  for (const char* name :
       {"C01_basic_proto2.pickle", "C03_before_history.pickle", "C06_expandable.pickle", "C08_no_history.pickle",
        "C09_many_devices.pickle", "C10_oom_fragmented.pickle", "C14_unknown_action.pickle", "C15_truncated.pickle",
        "hostile/bad_utf8.pickle", "hostile/json_snapshot.json", "hostile/line_u64max.pickle",
        "hostile/missing_keys.pickle", "hostile/negative_sizes.pickle", "hostile/segments_list_only.pickle"}) {
    auto snapshot = read_snapshot_bytes(bytes_of_snapshot_file(name));
    if (!snapshot.has_value()) continue;
    for (const SnapshotDeviceId device : snapshot->devices.ids().ids()) {
      const ReplayProof proof = replay_recorded(*snapshot, device);
      EXPECT_LE(proof.matched, proof.total) << name;
      (void)rank_settings(*snapshot, device, recorded_capacity(*snapshot, device));
    }
  }
}

}  // namespace
}  // namespace stepscope
