// A drawn snapshot's page data against the facts they are made of.
#include "report/html/memory_data.h"

#include <gtest/gtest.h>

#include "report/html/page_reader.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr const char* kDrawn = R"(
  segment A 20M
  alloc a A 2M @ torch/nn/linear.py:5 forward; train.py:10 main
  alloc b A+2M 4M @ train.py:12 main
  free a
  alloc c A 1M @ train.py:10 main
)";

TEST(MemoryPageData, AllocationsHaveTheirLivesAndLines) {
  const MemorySnapshot snapshot = drawn_snapshot(kDrawn);
  const PageReader page(build_memory_page_bytes(snapshot, compute_memory_facts(snapshot)));
  // Entries: segment, a, b, free a (two entries), c. Moments count what is done.
  EXPECT_EQ(page.numbers("devices", "moment_count"), std::vector<std::int64_t>{7});
  EXPECT_EQ(page.numbers("allocations", "alloc_moment"), (std::vector<std::int64_t>{2, 3, 6}));
  EXPECT_EQ(page.numbers("allocations", "free_moment"), (std::vector<std::int64_t>{5, 0, 0}));
  const auto strings = page.texts("strings", "text");
  const auto lines = page.numbers("allocations", "line");
  EXPECT_EQ(strings[static_cast<std::size_t>(lines[0])], "train.py:10 main");
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_EQ(strings[static_cast<std::size_t>(lines[1])], "train.py:12 main");
}

TEST(MemoryPageData, AllocationsSayWhatIsInferredAndWhatIsASum) {
  const MemorySnapshot snapshot = drawn_snapshot(kDrawn);
  MemoryFacts facts = compute_memory_facts(snapshot);
  facts.allocations.category_source.raw() = {CategorySource::kInferred, CategorySource::kRecorded,
                                             CategorySource::kAddressMap};
  facts.allocations.is_sum.raw() = {0, 0, 1};
  const PageReader page(build_memory_page_bytes(snapshot, facts));
  EXPECT_EQ(page.numbers("allocations", "is_inferred"), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(page.numbers("allocations", "is_sum"), (std::vector<std::int64_t>{0, 0, 1}));
}

TEST(MemoryPageData, LevelsAreThoseOfTheFacts) {
  const MemorySnapshot snapshot = drawn_snapshot(kDrawn);
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const PageReader page(build_memory_page_bytes(snapshot, facts));
  const auto level = compute_level(snapshot, facts, SnapshotDeviceId(0), MemoryLevelKind::kAllocated);
  EXPECT_EQ(page.numbers("moments", "allocated_bytes"), level);
  const auto peak = static_cast<std::size_t>(page.numbers("devices", "allocated_peak_moment")[0]);
  EXPECT_EQ(level[peak], page.numbers("devices", "allocated_peak_bytes")[0]);
}

TEST(MemoryPageData, BlocksFillTheirSegment) {
  const MemorySnapshot snapshot = drawn_snapshot(kDrawn);
  const PageReader page(build_memory_page_bytes(snapshot, compute_memory_facts(snapshot)));
  std::int64_t held = 0;
  for (const std::int64_t bytes : page.numbers("blocks", "size_bytes")) held += bytes;
  EXPECT_EQ(page.numbers("segments", "total_bytes"), std::vector<std::int64_t>{held});
}

}  // namespace
}  // namespace stepscope
