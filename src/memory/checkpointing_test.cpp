// Checkpointing: a model of four like blocks, whose peaks can be added up by hand.
#include "memory/checkpointing.h"

#include <gtest/gtest.h>

#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
const SnapshotDeviceId kFirst(0);

// 20 MiB of parameters, four blocks of 10 + 30 MiB of activations, 8 MiB of a gradient while all of them are held.
std::string four_blocks(const std::string& later = "") {
  std::string text = R"(
    segment A 900M
    alloc weight A 20M category=parameter @ model.py:1 build
  )";
  for (int block = 0; block < 4; ++block) {
    const std::string at = std::to_string(20 + 40 * block), number = std::to_string(block);
    text += "alloc attention" + number + " A+" + at + "M 10M category=activation @ model.py:5 forward\n";
    text += "alloc mlp" + number + " A+" + std::to_string(30 + 40 * block) +
            "M 30M category=activation @ model.py:6 forward\n";
  }
  text += "alloc gradient A+300M 8M category=gradient @ train.py:7 main\n";
  for (int block = 3; block >= 0; --block) {
    text += "free mlp" + std::to_string(block) + "\nfree attention" + std::to_string(block) + "\n";
  }
  return text + later;
}

CheckpointEstimate estimate_of(const std::string& text) {
  const MemorySnapshot snapshot = drawn_snapshot(text);
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto& allocated = facts.devices[kFirst].levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)];
  const auto live = find_live(snapshot, facts, kFirst, moment_after(snapshot, kFirst, allocated.peak_entry));
  return estimate_checkpointing(snapshot, facts, kFirst, live);
}

TEST(Checkpointing, SegmentsOfBlocksThatBringTheLowestPeak) {
  const CheckpointEstimate estimate = estimate_of(four_blocks());
  EXPECT_EQ(estimate.activation_bytes, 160 * kMiB);
  EXPECT_EQ(estimate.peak_bytes, 188 * kMiB);
  EXPECT_EQ(estimate.peak_without_bytes, 28 * kMiB);
  ASSERT_TRUE(estimate.plan);
  // Of one block each: 3 x 30 stay, 40 again: 130. Of two: 30 stay, 80 again: 110. Of three: 30 and 120.
  EXPECT_EQ(estimate.plan->block_count, 4);
  EXPECT_EQ(estimate.plan->blocks_together, 2);
  EXPECT_EQ(estimate.plan->kept_bytes, 30 * kMiB);
  EXPECT_EQ(estimate.plan->recomputed_bytes, 80 * kMiB);
  EXPECT_EQ(estimate.plan->peak_bytes, 138 * kMiB);
}

TEST(Checkpointing, ThePeakMovesToWhatIsHighWithoutActivations) {
  const CheckpointEstimate estimate = estimate_of(four_blocks("alloc scratch A+400M 130M @ train.py:9 main\n"));
  EXPECT_EQ(estimate.peak_bytes, 188 * kMiB);
  EXPECT_EQ(estimate.peak_without_bytes, 158 * kMiB);
  ASSERT_TRUE(estimate.plan);
  EXPECT_EQ(estimate.plan->peak_bytes, 158 * kMiB);
}

TEST(Checkpointing, WhatDoesNotRepeatStays) {
  const CheckpointEstimate estimate = estimate_of(R"(
    segment A 900M
    alloc embedding A 25M category=activation @ model.py:2 forward
    alloc a A+100M 40M category=activation @ model.py:5 forward
    alloc b A+140M 40M category=activation @ model.py:5 forward
    alloc c A+180M 40M category=activation @ model.py:5 forward
    alloc d A+220M 40M category=activation @ model.py:5 forward
    free d
    free c
    free b
    free a
    free embedding
  )");
  ASSERT_TRUE(estimate.plan);
  EXPECT_EQ(estimate.plan->blocks_together, 2);
  EXPECT_EQ(estimate.plan->kept_bytes, (25 + 40) * kMiB);
  EXPECT_EQ(estimate.plan->peak_bytes, (25 + 40 + 80) * kMiB);
}

// A block passes one of its stacks twice, and behind the blocks two copies come from one line.
TEST(Checkpointing, BlocksAreWhatNearlyAllThatRepeatsIsAMultipleOf) {
  const CheckpointEstimate estimate = estimate_of(R"(
    segment A 900M
    alloc a0 A 10M category=activation @ model.py:5 forward
    alloc b0 A+10M 10M category=activation @ model.py:5 forward
    alloc c0 A+20M 30M category=activation @ model.py:6 forward
    alloc a1 A+50M 10M category=activation @ model.py:5 forward
    alloc b1 A+60M 10M category=activation @ model.py:5 forward
    alloc c1 A+70M 30M category=activation @ model.py:6 forward
    alloc a2 A+100M 10M category=activation @ model.py:5 forward
    alloc b2 A+110M 10M category=activation @ model.py:5 forward
    alloc c2 A+120M 30M category=activation @ model.py:6 forward
    alloc logits A+200M 5M category=activation @ model.py:9 forward
    alloc copy A+300M 5M category=activation @ model.py:9 forward
    free copy
    free logits
    free c2
    free b2
    free a2
    free c1
    free b1
    free a1
    free c0
    free b0
    free a0
  )");
  ASSERT_TRUE(estimate.plan);
  EXPECT_EQ(estimate.plan->block_count, 3);
  EXPECT_EQ(estimate.plan->block_bytes, 150 * kMiB);
  EXPECT_EQ(estimate.plan->outside_bytes, 10 * kMiB);
  EXPECT_EQ(estimate.plan->in_blocks.size(), 9U);
  EXPECT_EQ(estimate.plan->blocks_together, 1);
  EXPECT_EQ(estimate.plan->peak_bytes, (10 + 2 * 30 + 50) * kMiB);
}

// Frames of a trace name the instance of a module.
TEST(Checkpointing, InstancesOfAModuleAreLikeBlocks) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 900M
    alloc a A 40M category=activation @ model.py:5 forward; :0 Block_0
    alloc b A+40M 40M category=activation @ model.py:5 forward; :0 Block_1
    alloc c A+80M 40M category=activation @ model.py:5 forward; :0 Block_2
    alloc d A+120M 40M category=activation @ model.py:5 forward; :0 Block_3
    free d
    free c
    free b
    free a
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto plan = estimate_checkpointing(snapshot, facts, kFirst, find_live(snapshot, facts, kFirst, 5)).plan;
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->block_count, 4);
}

TEST(Checkpointing, NoPlanWhereNothingIsSaved) {
  EXPECT_FALSE(estimate_of(R"(
    segment A 900M
    alloc a A 40M category=activation @ model.py:5 forward
    alloc b A+40M 30M category=activation @ model.py:6 forward
    free b
    free a
  )")
                   .plan);
  EXPECT_FALSE(estimate_of(R"(
    segment A 900M
    alloc a A 40M category=activation @ model.py:5 forward
    alloc b A+40M 40M category=activation @ model.py:5 forward
    free b
    free a
  )")
                   .plan);
  EXPECT_EQ(estimate_of("segment A 900M\nalloc a A 40M @ model.py:5 g\n").activation_bytes, 0);
}

}  // namespace
}  // namespace stepscope
