// Replay and what-if against an own allocator that plays the real one.
//
// This proves that the parts agree: what is recorded is replayed address by address, and a what-if forecasts exactly
// what the same program does when it is played under the other setting. Whether the allocator here is PyTorch's,
// recordings of a real one prove (allocator_recorded_test.cpp).
#include <gtest/gtest.h>

#include "memory/allocator_simulation.h"
#include "memory/allocator_test_support.h"
#include "memory/likely_addresses.h"

namespace stepscope {
namespace {

constexpr SnapshotDeviceId kDevice(0);
constexpr std::uint32_t kSeedCount = 200;

const char* const kSettings[] = {
    "default",
    "expandable_segments:True",
    "max_split_size_mb:20",
    "max_split_size_mb:128",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:2,4:8,>:16]",
    "large_segment_size_mb:40",
    "expandable_segments:True,large_segment_size_mb:12,roundup_power2_divisions:8",
    "garbage_collection_threshold:0.6",
    "max_split_size_mb:40,max_non_split_rounding_mb:60,garbage_collection_threshold:0.5",
};

AllocatorConfig config_of(const char* text) { return parse_allocator_config(text).value(); }

struct Recording {
  MemorySnapshot snapshot;
  Played played;
};

Recording record(const Program& program, const ProgramShape& shape, const AllocatorConfig& config,
                 std::optional<std::int64_t> cap, std::uint32_t seed, const SnapshotRecorder::Options& options,
                 std::size_t record_from = 0) {
  ScatteredDevice device(seed);
  SnapshotRecorder recorder(config, shape, options);
  AllocatorLimits limits;
  limits.cap_bytes = cap;
  CachingAllocator allocator(config, limits, device, &recorder);
  Recording recording;
  recording.played = ProgramPlayer(allocator, &recorder).play(program, record_from);
  recording.snapshot = recorder.finish(allocator);
  return recording;
}

std::int64_t reserved_peak_of(const Program& program, const AllocatorConfig& config) {
  ScatteredDevice device(1);
  CachingAllocator allocator(config, {}, device);
  return ProgramPlayer(allocator, nullptr).play(program).levels.reserved_peak_bytes;
}

ProgramShape shape_of(std::uint32_t seed) {
  ProgramShape shape;
  shape.stream_count = 1 + seed % 3;
  shape.private_pool_count = seed % 4 == 0 ? 2 : 0;
  // Without pool ids (before torch 2.12) nothing tells the pool of a segment that is gone at the end.
  shape.ends_graphs = seed % 8 == 0 && seed % 7 != 0;
  shape.frees_later = seed % 2 == 1;
  shape.empties_cache = seed % 5 < 2;
  return shape;
}

// Before torch 2.12 entries do not name the pool; that of a segment which is gone at the end is lost, as it may be with
// a limit on splitting.
SnapshotRecorder::Options options_of(std::uint32_t seed, const AllocatorConfig& config) {
  return {seed % 3 != 0, seed % 7 != 0 || config.max_split_size_bytes.has_value()};
}

// A cap for most: low enough that segments are released for retries and some programs fail.
std::optional<std::int64_t> cap_of(std::uint32_t seed, std::int64_t peak) {
  constexpr double kParts[] = {0.95, 0.85, 0.7};
  if (seed % 4 == 3) return {};
  return static_cast<std::int64_t>(static_cast<double>(peak) * kParts[seed % 4]);
}

TEST(AllocatorConsistency, ReplaysWhatWasRecordedUnderAnySetting) {
  std::size_t failed_count = 0, retry_count = 0;
  for (std::uint32_t seed = 0; seed < kSeedCount; ++seed) {
    const ProgramShape shape = shape_of(seed);
    const Program program = make_program(seed, shape);
    for (const char* text : kSettings) {
      const AllocatorConfig config = config_of(text);
      const auto cap = cap_of(seed, reserved_peak_of(program, config));
      const Recording recording = record(program, shape, config, cap, seed, options_of(seed, config));
      const ReplayProof proof = replay_recorded(recording.snapshot, kDevice);
      ASSERT_TRUE(proof.is_proven()) << text << ", seed " << seed << ": " << proof.first_mismatch;
      ASSERT_EQ(proof.device_call_matched, proof.device_call_total) << text << ", seed " << seed;
      failed_count += recording.played.failed_step ? 1 : 0;
      retry_count += static_cast<std::size_t>(recording.played.levels.retries);
    }
  }
  EXPECT_GT(failed_count, 50U) << "programs that ran out of memory";
  EXPECT_GT(retry_count, 500U);
}

void expect_equal(const AllocatorRun& run, const Played& played, const std::string& name) {
  EXPECT_EQ(run.reserved_peak_bytes, played.reserved_peak_bytes) << name;
  EXPECT_EQ(run.allocated_peak_bytes, played.allocated_peak_bytes) << name;
  EXPECT_EQ(run.requested_peak_bytes, played.requested_peak_bytes) << name;
  EXPECT_EQ(run.reserved_end_bytes, played.levels.reserved_bytes) << name;
  EXPECT_EQ(run.retries, played.levels.retries - played.start_levels.retries) << name;
  EXPECT_EQ(run.cuda_malloc_count, played.levels.device_allocation_count - played.start_levels.device_allocation_count)
      << name;
  EXPECT_EQ(run.oom.has_value(), played.failed_step.has_value()) << name;
}

// The sizes of blocks that are older than the history and freed in it are not recorded, nor always to be inferred, in
// the large pool of plain segments; elsewhere every such history has to be proven. Where it is, a run under the
// recorded settings gives what really happened since.
TEST(AllocatorConsistency, ReplaysHistoriesThatBeganInMidLife) {
  constexpr std::size_t kRecordFrom = 150;
  std::size_t total_count = 0, unproven_count = 0, compared_count = 0;
  for (std::uint32_t seed = 0; seed < kSeedCount; ++seed) {
    const ProgramShape shape = shape_of(seed);
    const Program program = make_program(seed, shape);
    for (const char* text : kSettings) {
      const AllocatorConfig config = config_of(text);
      const auto cap = cap_of(seed, reserved_peak_of(program, config));
      const Recording recording = record(program, shape, config, cap, seed, options_of(seed, config), kRecordFrom);
      const ReplayProof proof = replay_recorded(recording.snapshot, kDevice);
      if (proof.total == 0) continue;  // it ran out of memory before
      const std::string name = std::string(text) + ", seed " + std::to_string(seed);
      ++total_count;
      unproven_count += proof.is_proven() ? 0 : 1;
      if (proof.older_estimated_count == 0) {
        ASSERT_TRUE(proof.is_proven()) << name << ": " << proof.first_mismatch;
      }
      // Ages of blocks are not recorded, nor the pool of an oom before torch 2.12, nor graphs that ended; and without
      // stacks an empty_cache before a request looks like its retry.
      const bool is_all_recorded = config.garbage_collection_threshold == 0 && shape.private_pool_count == 0 &&
                                   (options_of(seed, config).has_stacks || !shape.empties_cache);
      if (proof.older_estimated_count > 0 || !is_all_recorded) continue;
      ++compared_count;
      expect_equal(simulate_allocator(recording.snapshot, kDevice, config, cap), recording.played, name);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(total_count, 1800U);
  EXPECT_LE(unproven_count, 10U);
  EXPECT_GT(compared_count, 300U);
}

// What a what-if can know of the program: empty_cache calls that gave nothing back leave no trace, and a program that
// failed ends there, with the size as it was rounded.
Program visible_program(const Program& program, const Played& played, const AllocatorConfig& config) {
  Program visible;
  for (std::size_t i = 0; i < program.size(); ++i) {
    ProgramStep step = program[i];
    const bool has_failed = played.failed_step == i;
    if (has_failed) step.bytes = round_request(config, step.bytes);
    if (step.kind != ProgramStep::Kind::kEmptyCache || played.did_release[i]) visible.push_back(step);
    if (has_failed) break;
  }
  return visible;
}

Played play_directly(const Program& program, const AllocatorConfig& config, std::optional<std::int64_t> cap,
                     const std::vector<std::pair<std::int64_t, std::uint64_t>>& taken_segments) {
  LikelyAddresses device(taken_segments);
  AllocatorLimits limits;
  limits.cap_bytes = cap;
  CachingAllocator allocator(config, limits, device);
  return ProgramPlayer(allocator, nullptr).play(program);
}

// Each setting from each other: without a cap, and with one that makes some retry and some fail.
TEST(AllocatorConsistency, AWhatIfIsWhatTheProgramDoesUnderThatSetting) {
  std::size_t failed_count = 0, served_count = 0, retry_count = 0;
  for (std::uint32_t seed = 0; seed < kSeedCount; ++seed) {
    ProgramShape shape = shape_of(seed);
    shape.ends_graphs = false;
    // A release completes the frees that wait, under the recorded setting maybe earlier than under another.
    shape.frees_later = shape.frees_later && !shape.empties_cache;
    const Program program = make_program(seed, shape);
    const char* recorded_text = kSettings[seed % std::size(kSettings)];
    const AllocatorConfig recorded_config = config_of(recorded_text);
    const std::int64_t peak = reserved_peak_of(program, recorded_config);
    const auto recorded_cap = shape.frees_later ? std::nullopt : cap_of(seed, peak);
    const Recording recording = record(program, shape, recorded_config, recorded_cap, seed, {});
    const AllocatorSimulation simulation(recording.snapshot, kDevice);
    const Program visible = visible_program(program, recording.played, recorded_config);
    for (const char* text : kSettings) {
      if (std::string_view(text) == recorded_text) continue;
      const AllocatorConfig config = config_of(text);
      for (const std::optional<std::int64_t> cap :
           {std::optional<std::int64_t>(), std::optional(peak / 10 * 9), std::optional(peak / 10 * 7)}) {
        const Played played = play_directly(visible, config, cap, simulation.taken_segments());
        expect_equal(simulation.run(config, cap), played,
                     std::string(recorded_text) + " to " + text + ", seed " + std::to_string(seed));
        if (HasFailure()) return;
        (played.failed_step ? failed_count : served_count) += 1;
        retry_count += static_cast<std::size_t>(played.levels.retries);
      }
    }
  }
  EXPECT_GT(failed_count, 500U);
  EXPECT_GT(served_count, 500U);
  EXPECT_GT(retry_count, 500U);
}

// After every event: allocated <= active <= reserved, and the blocks are the levels.
class LevelChecker final : public AllocatorListener {
 public:
  void watch(const CachingAllocator& allocator) { allocator_ = &allocator; }
  void on_event(AllocatorAction, std::uint64_t, std::int64_t, std::uint32_t, std::uint32_t) override {
    const AllocatorLevels& levels = allocator_->levels();
    ASSERT_LE(levels.allocated_bytes, levels.active_bytes);
    ASSERT_LE(levels.active_bytes, levels.reserved_bytes);
    ASSERT_LE(levels.requested_bytes, levels.active_bytes);
    ASSERT_LE(levels.reserved_bytes, levels.reserved_peak_bytes);
    ++event_count;
  }
  std::size_t event_count = 0;

 private:
  const CachingAllocator* allocator_ = nullptr;
};

void expect_blocks_are_levels(const CachingAllocator& allocator) {
  using State = CachingAllocator::StartBlock::State;
  std::int64_t reserved = 0, allocated = 0, active = 0;
  State previous = State::kAllocated;
  for (const CachingAllocator::BlockView& block : allocator.all_blocks()) {
    const bool may_join = block.state == State::kFree || block.state == State::kUnmapped;
    if (!block.is_first && may_join) {
      EXPECT_NE(block.state, previous) << "free neighbours that are not one";
    }
    previous = block.state;
    EXPECT_GT(block.bytes, 0);
    if (block.state != State::kUnmapped) reserved += block.bytes;
    if (block.state == State::kAllocated) allocated += block.bytes;
    if (block.state == State::kAllocated || block.state == State::kPending) active += block.bytes;
  }
  EXPECT_EQ(reserved, allocator.levels().reserved_bytes);
  EXPECT_EQ(allocated, allocator.levels().allocated_bytes);
  EXPECT_EQ(active, allocator.levels().active_bytes);
}

TEST(AllocatorConsistency, KeepsItsInvariants) {
  for (std::uint32_t seed = 0; seed < kSeedCount; ++seed) {
    const Program program = make_program(seed, shape_of(seed));
    for (const char* text : kSettings) {
      const AllocatorConfig config = config_of(text);
      ScatteredDevice device(seed);
      LevelChecker checker;
      AllocatorLimits limits;
      limits.cap_bytes = cap_of(seed, reserved_peak_of(program, config));
      CachingAllocator allocator(config, limits, device, &checker);
      checker.watch(allocator);
      const Played played = ProgramPlayer(allocator, nullptr).play(program);
      EXPECT_GT(checker.event_count, 0U);
      expect_blocks_are_levels(allocator);
      if (!limits.cap_bytes) {
        EXPECT_FALSE(played.failed_step) << "no limit, and yet out of memory";
      }
      if (limits.cap_bytes && !config.expandable_segments) {
        EXPECT_LE(played.levels.reserved_peak_bytes, *limits.cap_bytes);
      }
      if (HasFailure()) FAIL() << text << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace stepscope
