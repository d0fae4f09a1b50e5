// Steps from annotations, their peaks, and what the highest one holds more than an ordinary one.
#include <gtest/gtest.h>

#include "memory/facts.h"
#include "memory/spans.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
const SnapshotDeviceId kFirst(0);

MemorySteps steps_of(const std::string& text, const std::string& name = "") {
  const MemorySnapshot snapshot = drawn_snapshot(text);
  return compute_memory_facts(snapshot, {name}).steps[kFirst];
}

TEST(MemorySteps, BeginWhereTheirAnnotationsDo) {
  const MemorySteps steps = steps_of(R"(
    segment A 40M
    start ProfilerStep#7
    alloc a A 4M
    end ProfilerStep#7
    free a
    start ProfilerStep#8
    alloc b A 6M
    free b
    end ProfilerStep#8
    alloc late A 8M
  )");
  EXPECT_EQ(steps.name, "ProfilerStep");
  EXPECT_EQ(steps.moments, (std::vector<std::size_t>{1, 4, 7}));
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(steps.peak_bytes, (std::vector<std::int64_t>{4 * kMiB, 6 * kMiB}));
  EXPECT_EQ(steps.peak_entry, (std::vector<SnapshotEntryId>{SnapshotEntryId(1), SnapshotEntryId(4)}));
}

// An annotation names its device; a device that none names borrows all, if it can be one of PyTorch's.
TEST(MemorySteps, DevicesHaveTheirOwnAnnotationsOrBorrow) {
  MemorySnapshot snapshot;
  constexpr std::size_t kDeviceCount = 200;
  for (std::size_t number = 0; number < kDeviceCount; ++number) {
    SnapshotDevices::Row device;
    device.number = static_cast<std::int64_t>(2 * number);  // 1, 3 ...: no such device
    snapshot.devices.push_back(device);
  }
  for (const std::int64_t number : {4, 5, 4, 396}) {
    SnapshotAnnotations::Row annotation;
    annotation.device_number = number;
    annotation.time_us = static_cast<std::int64_t>(snapshot.annotations.size());
    snapshot.annotations.push_back(annotation);
  }
  const DeviceAnnotations annotations(snapshot);
  const auto of = [&](std::size_t device) {
    std::vector<std::uint32_t> ids;
    for (const SnapshotAnnotationId id : annotations.of(SnapshotDeviceId(device))) ids.push_back(id.value);
    return ids;
  };
  EXPECT_EQ(of(2), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(of(198), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(of(0), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(of(127), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(of(128).empty());
}

TEST(MemorySteps, AnOpenLastStepEndsWithTheHistory) {
  const MemorySteps steps = steps_of(R"(
    older_segment A 40M
    older held A 9M
    start step#0
    alloc a A+9M 1M
    free held
    start step#1
    free a
  )");
  EXPECT_EQ(steps.name, "step");
  EXPECT_EQ(steps.moments, (std::vector<std::size_t>{0, 3, 5}));
  EXPECT_EQ(steps.peak_bytes, (std::vector<std::int64_t>{10 * kMiB, 1 * kMiB}));
  EXPECT_FALSE(steps.peak_entry[1].has_value());  // its highest level is the one it began with
}

TEST(MemorySteps, EndWithTheOptimizerWhereNothingElseMarksThem) {
  const MemorySteps steps = steps_of(R"(
    segment A 40M
    alloc a A 4M
    start Optimizer.step#Adam.step
    alloc t A+4M 1M
    free t
    end Optimizer.step#Adam.step
    free a
    alloc b A 6M
    start Optimizer.step#Adam.step
    end Optimizer.step#Adam.step
    free b
  )");
  EXPECT_EQ(steps.name, "Optimizer.step#Adam.step");
  EXPECT_EQ(steps.moments, (std::vector<std::size_t>{0, 5, 8}));
  EXPECT_EQ(steps.peak_bytes, (std::vector<std::int64_t>{5 * kMiB, 6 * kMiB}));
}

TEST(MemorySteps, TheCallersNameComesFirst) {
  const std::string text = R"(
    segment A 40M
    start epoch
    start ProfilerStep#1
    alloc a A 4M
    start batch
    free a
    start batch
    end ProfilerStep#1
    end epoch
  )";
  EXPECT_EQ(steps_of(text).name, "ProfilerStep");
  EXPECT_EQ(steps_of(text, "batch").moments, (std::vector<std::size_t>{2, 4, 4}));
  EXPECT_TRUE(steps_of(text, "no such span").moments.empty());
  EXPECT_TRUE(steps_of(text, "no such span").name.empty());
}

TEST(MemorySteps, ANameThatRepeatsOutermostIsTakenForWantOfBetter) {
  const MemorySteps steps = steps_of(R"(
    segment A 40M
    start train
    start layer
    alloc a A 4M
    end layer
    start layer
    end layer
    end train
    start train
    free a
    end train
  )");
  EXPECT_EQ(steps.name, "train");
  EXPECT_EQ(steps.moments, (std::vector<std::size_t>{1, 2, 4}));
}

TEST(MemorySteps, CrossedSpansCloseByName) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    start outer
    start crossing
    end outer
    alloc a A 1M
    end crossing
    alloc b A+1M 1M
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(facts.allocations.span[AllocationId(0)], SnapshotAnnotationId(1));
  EXPECT_FALSE(facts.allocations.span[AllocationId(1)].has_value());
}

TEST(StepComparison, DifferencesAddUpToTheDifferenceOfTheLiveSets) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 400M
    alloc weights A 10M @ model.py:1 build
    start step#0
    alloc a A+10M 20M @ train.py:5 forward
    free a
    end step#0
    start step#1
    alloc a A+10M 21M @ train.py:5 forward
    free a
    end step#1
    start step#2
    alloc big A+10M 60M @ train.py:5 forward
    alloc odd A+70M 8M @ eval.py:2 collect
    free big
    end step#2
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto comparison = compare_steps(snapshot, facts, kFirst, LiveGrouping::kLine);
  ASSERT_TRUE(comparison.has_value());
  EXPECT_EQ(comparison->peak_step, 2U);
  EXPECT_EQ(comparison->ordinary_step, 1U);
  EXPECT_EQ(comparison->peak_bytes, 78 * kMiB);
  EXPECT_EQ(comparison->ordinary_bytes, 31 * kMiB);
  ASSERT_EQ(comparison->differences.size(), 2U);
  EXPECT_EQ(comparison->differences[0].name, "train.py:5 forward");
  EXPECT_EQ(comparison->differences[0].bytes, 39 * kMiB);
  EXPECT_EQ(comparison->differences[0].count, 0);
  EXPECT_EQ(comparison->differences[1].bytes, 8 * kMiB);
  EXPECT_FALSE(compare_steps(snapshot, compute_memory_facts(snapshot, {"none"}), kFirst, LiveGrouping::kLine));
}

}  // namespace
}  // namespace stepscope
