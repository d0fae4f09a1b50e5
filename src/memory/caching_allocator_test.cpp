// Each rule of the allocator as a picture: segments between bars, blocks from left to right with their sizes in MiB.
// Letters are live, an apostrophe marks a free that waits, a dot is free, a dash is not mapped.
#include "memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <map>

#include "memory/likely_addresses.h"

namespace stepscope {
namespace {

using State = CachingAllocator::StartBlock::State;

class Scene {
 public:
  explicit Scene(std::string_view settings = "", AllocatorLimits limits = {}, bool expandable_private_pools = true)
      : allocator_(config_of(settings, expandable_private_pools), limits, addresses_) {}

  // Megabytes, so that pictures stay short. False: out of memory.
  bool take(char name, double megabytes, std::uint32_t stream = 0, std::uint32_t pool = 0) {
    const BlockId block = allocator_.allocate(bytes_of(megabytes), stream, pool);
    if (block.has_value()) blocks_[name] = block;
    return block.has_value();
  }
  void free(const std::string& names) {
    for (const char name : names) {
      allocator_.request_free(blocks_.at(name));
      allocator_.complete_free(blocks_.at(name));
      blocks_.erase(name);
    }
  }
  void free_later(char name) { allocator_.request_free(blocks_.at(name)); }
  // Of a block whose free a release completed.
  void forget(char name) { blocks_.erase(name); }
  CachingAllocator& allocator() { return allocator_; }
  [[nodiscard]] const AllocatorLevels& levels() const { return allocator_.levels(); }
  [[nodiscard]] double reserved() const { return megabytes_of(levels().reserved_bytes); }

  [[nodiscard]] std::string picture() const {
    std::string text;
    for (const CachingAllocator::BlockView& block : allocator_.all_blocks()) {
      text += block.is_first ? "|" : " ";
      text += name_of(block);
      if (block.state != State::kUnmapped) text += number(megabytes_of(block.bytes));
    }
    return text + "|";
  }

 private:
  static AllocatorConfig config_of(std::string_view settings, bool expandable_private_pools) {
    auto config = parse_allocator_config(settings);
    EXPECT_TRUE(config.has_value()) << settings;
    config.value().expandable_private_pools = expandable_private_pools;
    return config.value();
  }
  static std::int64_t bytes_of(double megabytes) {
    return static_cast<std::int64_t>(megabytes * static_cast<double>(kMiB));
  }
  static double megabytes_of(std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }
  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }
  [[nodiscard]] std::string name_of(const CachingAllocator::BlockView& block) const {
    if (block.state == State::kFree) return ".";
    if (block.state == State::kUnmapped) return "-";
    for (const auto& [name, id] : blocks_) {
      if (allocator_.address(id) != block.address) continue;
      return std::string(1, name) + (block.state == State::kPending ? "'" : "");
    }
    return "?";
  }

  LikelyAddresses addresses_{{}};
  CachingAllocator allocator_;
  std::map<char, BlockId> blocks_;
};

AllocatorLimits cap(std::int64_t megabytes) {
  AllocatorLimits limits;
  limits.cap_bytes = megabytes * kMiB;
  return limits;
}
AllocatorLimits device(std::int64_t megabytes) {
  AllocatorLimits limits;
  limits.device_bytes = megabytes * kMiB;
  return limits;
}

TEST(CachingAllocator, SmallRequestsShareASegmentOfTwo) {
  Scene scene;
  scene.take('a', 0.5);
  scene.take('b', 1);
  scene.take('c', 0.25);
  EXPECT_EQ(scene.picture(), "|a0.5 b1 c0.25 .0.25|");
  scene.take('d', 0.5);
  EXPECT_EQ(scene.picture(), "|a0.5 b1 c0.25 .0.25|d0.5 .1.5|");
}

TEST(CachingAllocator, LargeRequestsUnderTenShareASegmentOfTwenty) {
  Scene scene;
  scene.take('a', 3);
  scene.take('b', 9);
  EXPECT_EQ(scene.picture(), "|a3 b9 .8|");
}

TEST(CachingAllocator, FromTenOnARequestGetsASegmentOfItsSize) {
  Scene scene;
  scene.take('a', 10);
  scene.take('b', 11);
  EXPECT_EQ(scene.picture(), "|a10|b12|") << "a rest of 1 is not split off";
}

TEST(CachingAllocator, TakesTheLeastThatFitsAndOfEqualOnesTheLeft) {
  Scene scene;
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) scene.take(name, name == 'a' ? 5 : name == 'f' ? 2 : 3);
  ASSERT_EQ(scene.picture(), "|a5 b3 c3 d3 e3 f3|") << "f: a rest of 1 stays with it";
  scene.free("abd");
  ASSERT_EQ(scene.picture(), "|.8 c3 .3 e3 f3|");
  scene.take('g', 2.5);
  EXPECT_EQ(scene.picture(), "|.8 c3 g3 e3 f3|");
  scene.free("eg");
  scene.take('h', 2);
  EXPECT_EQ(scene.picture(), "|.8 c3 h2 .4 f3|");
}

TEST(CachingAllocator, FreedNeighboursBecomeOne) {
  Scene scene;
  for (const char name : {'a', 'b', 'c', 'd'}) scene.take(name, 4);
  scene.free("ac");
  EXPECT_EQ(scene.picture(), "|.4 b4 .4 d4 .4|");
  scene.free("b");
  EXPECT_EQ(scene.picture(), "|.12 d4 .4|");
  scene.free("d");
  EXPECT_EQ(scene.picture(), "|.20|");
}

TEST(CachingAllocator, StreamsDoNotShare) {
  Scene scene;
  scene.take('a', 12, 0);
  scene.free("a");
  scene.take('b', 12, 1);
  EXPECT_EQ(scene.picture(), "|.12|b12|");
}

TEST(CachingAllocator, AFreeThatWaitsIsNotUsedAndNotJoined) {
  Scene scene;
  scene.take('a', 4);
  scene.take('b', 4);
  scene.free_later('a');
  scene.free("b");
  EXPECT_EQ(scene.picture(), "|a'4 .16|");
  EXPECT_EQ(scene.levels().allocated_bytes, 0);
  EXPECT_EQ(scene.levels().active_bytes, 4 * kMiB);
  scene.free("a");
  EXPECT_EQ(scene.picture(), "|.20|");
}

TEST(CachingAllocator, EmptyCacheGivesBackWhatIsWhole) {
  Scene scene;
  scene.take('a', 12);
  scene.take('b', 4);
  scene.take('c', 0.5);
  scene.take('d', 14);
  scene.free("ac");
  scene.free_later('d');
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|b4 .16|");
  EXPECT_EQ(scene.reserved(), 20);
}

TEST(CachingAllocator, AtItsCapItReleasesAllThatIsWholeAndTriesAgain) {
  Scene scene("", cap(40));
  scene.take('a', 12);
  scene.take('b', 14);
  scene.free("ab");
  ASSERT_EQ(scene.picture(), "|.12|.14|");
  EXPECT_TRUE(scene.take('c', 16));
  EXPECT_EQ(scene.picture(), "|c16|");
  EXPECT_EQ(scene.levels().retries, 1);
}

TEST(CachingAllocator, ARetryWaitsForFreesOfOtherStreams) {
  Scene scene("", cap(40));
  scene.take('a', 30);
  scene.free_later('a');
  EXPECT_TRUE(scene.take('b', 32));
  scene.forget('a');
  EXPECT_EQ(scene.picture(), "|b32|");
  EXPECT_EQ(scene.levels().retries, 1);
}

TEST(CachingAllocator, FreesThatWaitCompleteInAnyOrder) {
  Scene scene;
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) scene.take(name, 4);
  for (const char name : {'e', 'b', 'd', 'a', 'c'}) scene.free_later(name);
  ASSERT_EQ(scene.picture(), "|a'4 b'4 c'4 d'4 e'4|");
  scene.free("d");
  EXPECT_EQ(scene.picture(), "|a'4 b'4 c'4 .4 e'4|");
  scene.free("e");
  scene.free("c");
  EXPECT_EQ(scene.picture(), "|a'4 b'4 .12|");
  scene.take('f', 2);
  scene.free_later('f');
  EXPECT_EQ(scene.picture(), "|a'4 b'4 f'2 .10|");
  scene.allocator().release_cached();  // completes the rest
  EXPECT_EQ(scene.reserved(), 0);
  EXPECT_EQ(scene.levels().active_bytes, 0);
}

TEST(CachingAllocator, ASegmentOfTheStartGoesOnlyIfItIsWhole) {
  Scene scene;
  const auto add = [&](std::uint64_t address, const std::vector<CachingAllocator::StartBlock>& blocks) {
    return scene.allocator().add_segment(address, blocks, 0, 0, false, false);
  };
  const std::vector<BlockId> partly =
      add(1ULL << 40, {{10 * kMiB, 0, State::kFree}, {10 * kMiB, 5, State::kAllocated}});
  add(1ULL << 41, {{20 * kMiB, 0, State::kFree}});
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|.10 ?10|");
  scene.allocator().request_free(partly.back());
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|");
}

TEST(CachingAllocator, RunsOutOfMemoryWhereNothingIsWhole) {
  Scene scene("", cap(40));
  scene.take('a', 4);
  scene.take('b', 4);
  scene.free("a");
  EXPECT_FALSE(scene.take('c', 22));
  EXPECT_EQ(scene.picture(), "|.4 b4 .12|");
  EXPECT_EQ(scene.levels().retries, 1);
  EXPECT_EQ(scene.reserved(), 20);
}

TEST(CachingAllocator, ADeviceRefusesLikeACap) {
  Scene scene("", device(40));
  EXPECT_TRUE(scene.take('a', 40));
  EXPECT_FALSE(scene.take('b', 0.5));
}

TEST(CachingAllocator, PrivatePoolsDoNotShareAndAreKept) {
  Scene scene;
  scene.take('a', 12, 0, 1);
  scene.free("a");
  scene.take('b', 12);
  scene.free("b");
  EXPECT_EQ(scene.picture(), "|.12|.12|");
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|.12|") << "a graph may be replayed";
  scene.allocator().let_release(1);
  scene.allocator().release_cached();
  EXPECT_EQ(scene.reserved(), 0);
}

// A graph is being captured then, and nothing may be synchronized.
TEST(CachingAllocator, ARequestOfAPrivatePoolDoesNotRetry) {
  Scene scene("", cap(20));
  scene.take('a', 12);
  scene.free("a");
  EXPECT_FALSE(scene.take('b', 14, 0, 1));
  EXPECT_EQ(scene.picture(), "|.12|");
  EXPECT_EQ(scene.levels().retries, 0);
}

TEST(CachingAllocator, OversizeBlocksAreNotSplitNorGivenToSmallerRequests) {
  Scene scene("max_split_size_mb:30");
  scene.take('a', 40);
  scene.free("a");
  scene.take('b', 12);
  EXPECT_EQ(scene.picture(), "|.40|b12|");
  scene.take('c', 32);
  EXPECT_EQ(scene.picture(), "|c40|b12|") << "handed out whole: only 8 more than asked for";
}

TEST(CachingAllocator, AnOversizeBlockIsNotWastedOnAMuchSmallerRequest) {
  Scene narrow("max_split_size_mb:30");
  narrow.take('a', 60);
  narrow.free("a");
  narrow.take('b', 40);
  EXPECT_EQ(narrow.picture(), "|.60|b40|") << "20 or more would be lost";
  Scene wide("max_split_size_mb:30,max_non_split_rounding_mb:21");
  wide.take('a', 60);
  wide.free("a");
  wide.take('b', 40);
  EXPECT_EQ(wide.picture(), "|b60|");
}

TEST(CachingAllocator, ReleasesOneOversizeBlockBeforeAllElse) {
  Scene scene("max_split_size_mb:30", cap(110));
  scene.take('a', 32);
  scene.take('b', 60);
  scene.take('c', 12);
  scene.free("abc");
  EXPECT_TRUE(scene.take('d', 36));
  EXPECT_EQ(scene.picture(), "|.32|.12|d36|") << "b is the least that is large enough";
  EXPECT_EQ(scene.levels().retries, 0);
}

TEST(CachingAllocator, ReleasesSeveralOversizeBlocksFromTheLargest) {
  Scene scene("max_split_size_mb:30", cap(120));
  scene.take('a', 32);
  scene.take('b', 34);
  scene.take('c', 36);
  scene.free("abc");
  EXPECT_TRUE(scene.take('d', 64));
  EXPECT_EQ(scene.picture(), "|.32|d64|");
  EXPECT_EQ(scene.levels().retries, 0);
}

TEST(CachingAllocator, CollectsWhatLayUnusedLongest) {
  Scene scene("garbage_collection_threshold:0.5", cap(100));
  scene.take('a', 30, 1);
  scene.take('b', 20);
  scene.free("a");
  for (int i = 0; i < 5; ++i) {
    scene.take('c', 12);
    scene.free("c");
  }
  ASSERT_EQ(scene.picture(), "|.30|b20|.12|");
  scene.take('d', 32);
  EXPECT_EQ(scene.picture(), "|b20|.12|d32|") << "62 of 100 is over the threshold, and a is older than the average";
}

TEST(CachingAllocator, WithoutACapNothingIsCollected) {
  Scene scene("garbage_collection_threshold:0.5", device(100));
  scene.take('a', 60);
  scene.free("a");
  scene.take('b', 20, 1);
  EXPECT_EQ(scene.picture(), "|.60|b20|");
}

TEST(CachingAllocator, ExpandableSegmentsGrowByPagesAndUseAllOfThem) {
  Scene scene("expandable_segments:True");
  scene.take('a', 3);
  EXPECT_EQ(scene.picture(), "|a3 .17 -|");
  scene.take('b', 30);
  EXPECT_EQ(scene.picture(), "|a3 b30 .7 -|") << "17 were there, 13 more are one page of 20";
  EXPECT_EQ(scene.levels().device_allocation_count, 2);
  scene.take('c', 0.5);
  EXPECT_EQ(scene.picture(), "|a3 b30 .7 -|c0.5 .1.5 -|") << "the small pool has a segment of its own, pages of 2";
}

// The free end could grow, so it counts as the larger one.
TEST(CachingAllocator, AHoleIsTakenBeforeTheEndThatCanGrow) {
  Scene scene("expandable_segments:True");
  scene.take('a', 8);
  scene.take('b', 6);
  scene.free("a");
  ASSERT_EQ(scene.picture(), "|.8 b6 .6 -|");
  scene.take('c', 5);
  EXPECT_EQ(scene.picture(), "|c5 .3 b6 .6 -|");
}

TEST(CachingAllocator, UnmapsWholePagesInsideFreeBlocksAndMapsTheLowestAgain) {
  Scene scene("expandable_segments:True");
  scene.take('a', 10);
  scene.take('b', 60);
  scene.take('c', 10);
  ASSERT_EQ(scene.picture(), "|a10 b60 c10 -|");
  scene.free("b");
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|a10 .10 - .10 c10 -|");
  EXPECT_EQ(scene.reserved(), 40);
  scene.take('d', 15);
  EXPECT_EQ(scene.picture(), "|a10 d15 .15 - .10 c10 -|") << "from the free block before the hole on";
  EXPECT_EQ(scene.reserved(), 60);
}

TEST(CachingAllocator, AnExpandableSegmentThatIsAllUnmappedGoes) {
  Scene scene("expandable_segments:True");
  scene.take('a', 10);
  scene.free("a");
  scene.allocator().release_cached();
  EXPECT_EQ(scene.picture(), "|");
  EXPECT_EQ(scene.reserved(), 0);
}

// A cap counts the size of a plain segment, a device what is really mapped.
TEST(CachingAllocator, ACapCanRefuseWhatADeviceWouldServe) {
  for (const bool is_cap : {true, false}) {
    Scene scene("expandable_segments:True", is_cap ? cap(50) : device(50));
    ASSERT_TRUE(scene.take('a', 2));
    EXPECT_EQ(scene.take('b', 32), !is_cap) << "18 are free, 20 more are mapped, a segment would have been of 32";
  }
}

TEST(CachingAllocator, PagesOfARequestThatFailsStayMapped) {
  Scene scene("expandable_segments:True", device(60));
  scene.take('a', 20);
  scene.take('b', 20);
  scene.take('c', 20);
  scene.free("b");
  scene.allocator().release_cached();
  ASSERT_EQ(scene.picture(), "|a20 - c20 -|");
  EXPECT_FALSE(scene.take('d', 60));
  EXPECT_EQ(scene.picture(), "|a20 - c20 -|") << "mapped, found too little, and released for the retry";
  EXPECT_TRUE(scene.take('e', 18));
  EXPECT_EQ(scene.picture(), "|a20 e18 .2 c20 -|");
}

TEST(CachingAllocator, PrivatePoolsOfOlderVersionsAreNotExpandable) {
  Scene scene("expandable_segments:True", {}, false);
  scene.take('a', 12, 0, 1);
  scene.take('b', 3, 0, 1);
  EXPECT_EQ(scene.picture(), "|a12|b3 .17|");
}

TEST(CachingAllocator, PeaksAreKept) {
  Scene scene;
  scene.take('a', 12);
  scene.take('b', 11.5);
  scene.free("ab");
  scene.allocator().release_cached();
  EXPECT_EQ(scene.levels().reserved_peak_bytes, 24 * kMiB);
  EXPECT_EQ(scene.levels().allocated_peak_bytes, 24 * kMiB) << "a rest that is not split off counts";
  EXPECT_EQ(scene.levels().requested_peak_bytes, 23 * kMiB + kMiB / 2);
  EXPECT_EQ(scene.levels().reserved_bytes, 0);
}

TEST(CachingAllocator, ServesNoRequestLargerThanAnyDevice) {
  Scene scene;
  EXPECT_FALSE(scene.take('a', 2e9));
  EXPECT_TRUE(scene.take('b', 1));
  EXPECT_FALSE(scene.allocator().allocate(std::numeric_limits<std::int64_t>::max(), 0, 0).has_value());
  EXPECT_TRUE(scene.allocator().allocate(0, 0, 0).has_value());
}

}  // namespace
}  // namespace stepscope
