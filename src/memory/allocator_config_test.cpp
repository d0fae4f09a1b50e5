#include <gtest/gtest.h>

#include "memory/allocator_rules.h"
#include "memory/allocator_what_if.h"

namespace stepscope {
namespace {

AllocatorConfig parsed(std::string_view text) {
  auto config = parse_allocator_config(text);
  EXPECT_TRUE(config.has_value()) << text << ": " << (config.has_value() ? "" : config.error().message);
  return config.has_value() ? config.value() : AllocatorConfig{};
}

std::string error_of(std::string_view text) {
  const auto config = parse_allocator_config(text);
  return config.has_value() ? "accepted" : config.error().message;
}

TEST(AllocatorConfig, NothingIsTheDefault) {
  EXPECT_EQ(parsed(""), AllocatorConfig{});
  EXPECT_EQ(parsed("  "), AllocatorConfig{});
  EXPECT_EQ(parsed("default"), AllocatorConfig{});
  EXPECT_EQ(parsed("PYTORCH_CUDA_ALLOC_CONF="), AllocatorConfig{});
}

TEST(AllocatorConfig, ReadsEachKey) {
  EXPECT_TRUE(parsed("expandable_segments:True").expandable_segments);
  EXPECT_FALSE(parsed("expandable_segments:False").expandable_segments);
  EXPECT_EQ(parsed("max_split_size_mb:128").max_split_size_bytes, 128 * kMiB);
  EXPECT_EQ(parsed("max_non_split_rounding_mb:64").max_non_split_rounding_bytes, 64 * kMiB);
  EXPECT_EQ(parsed("large_segment_size_mb:12").large_segment_bytes, 12 * kMiB);
  EXPECT_EQ(parsed("garbage_collection_threshold:0.8").garbage_collection_threshold, 0.8);
  EXPECT_FALSE(parsed("no_caching").caching);
}

TEST(AllocatorConfig, ReadsSeveralKeysWithBlanks) {
  const AllocatorConfig config =
      parsed("PYTORCH_CUDA_ALLOC_CONF= expandable_segments : True , max_split_size_mb:512,backend:native");
  EXPECT_TRUE(config.expandable_segments);
  EXPECT_EQ(config.max_split_size_bytes, 512 * kMiB);
}

TEST(AllocatorConfig, TheLargeSegmentSetsTheLeastOfTwoOthersWhereverItStands) {
  const AllocatorConfig config = parsed("max_split_size_mb:15,large_segment_size_mb:12");
  EXPECT_EQ(config.max_split_size_bytes, 15 * kMiB);
  EXPECT_EQ(config.max_non_split_rounding_bytes, 12 * kMiB);
  EXPECT_EQ(error_of("max_split_size_mb:15"),
            "max_split_size_mb wants at least 20 (the size of a large segment), not 15 (at character 19)");
}

TEST(AllocatorConfig, ReadsDivisionsAsOneNumber) {
  for (const std::int64_t each : parsed("roundup_power2_divisions:8").roundup_power2_divisions) EXPECT_EQ(each, 8);
}

// [i] are the sizes from 2^i MiB; the first pair is also for all below, > for all above the last.
TEST(AllocatorConfig, ReadsDivisionsAsAList) {
  const auto divisions = parsed("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]").roundup_power2_divisions;
  const std::array<std::int64_t, 16> expected{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8};
  EXPECT_EQ(divisions, expected);
}

TEST(AllocatorConfig, WhatTheListLeavesOutIsNotRounded) {
  const auto divisions = parsed("roundup_power2_divisions:[2:4,16:8]").roundup_power2_divisions;
  const std::array<std::int64_t, 16> expected{4, 4, 0, 0, 8};
  EXPECT_EQ(divisions, expected);
}

TEST(AllocatorConfig, AcceptsWhatChangesNothingReserved) {
  EXPECT_EQ(parsed("pinned_use_background_threads:True,release_lock_on_cudamalloc:True,pinned_num_register_threads:8,"
                   "expandable_segments_reserve_by_class:[capture:0.25,workspace:40G],backend:native,"
                   "per_process_memory_fraction:1.0"),
            AllocatorConfig{});
}

TEST(AllocatorConfig, ErrorsNameKeyAndPlace) {
  EXPECT_EQ(error_of("expandable_segments:true"),
            "expandable_segments wants True or False, not \"true\" (at character 21)");
  EXPECT_EQ(error_of("max_split_size_mb"),
            "max_split_size_mb wants a colon and a value, and the text ends (at character 18)");
  EXPECT_EQ(error_of("max_split_size_mb:128abc"),
            "max_split_size_mb wants a whole number of megabytes, not \"128abc\" (at character 19)");
  EXPECT_EQ(error_of("garbage_collection_threshold:1.5"),
            "garbage_collection_threshold wants a part of 1, over 0.0 and under 1.0, not \"1.5\" (at character 30)");
  EXPECT_EQ(error_of("large_segment_size_mb:10"), "large_segment_size_mb wants more than 10, not 10 (at character 23)");
  EXPECT_EQ(error_of("roundup_power2_divisions:3"),
            "roundup_power2_divisions wants a power of two, or a list like [256:1,512:2,>:8], not \"3\" (at character "
            "26)");
  EXPECT_EQ(error_of("roundup_power2_divisions:[256:1"),
            "roundup_power2_divisions wants a comma or ] in its list, and the text ends (at character 32)");
  EXPECT_EQ(error_of("expandable_segments:True max_split_size_mb:128"),
            "allocator settings want a comma between two settings, not \"max_split_size_mb\" (at character 26)");
  EXPECT_NE(error_of("max_split_mb:5").find("no allocator setting is named \"max_split_mb\" (at character 1)"),
            std::string::npos);
}

TEST(AllocatorConfig, SaysWhatCannotBeSimulated) {
  const auto async = parse_allocator_config("backend:cudaMallocAsync");
  ASSERT_FALSE(async.has_value());
  EXPECT_EQ(async.error().code, ErrorCode::kUnsupported);
  const auto fraction = parse_allocator_config("per_process_memory_fraction:0.5");
  ASSERT_FALSE(fraction.has_value());
  EXPECT_EQ(fraction.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(error_of("no_caching,expandable_segments:True").find("stands alone"), std::string::npos);
}

// Every prefix of a long text, and every text with one character changed, is read or refused.
TEST(AllocatorConfig, SurvivesDamage) {
  const std::string whole = "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8],max_split_size_mb:128";
  for (std::size_t size = 0; size <= whole.size(); ++size) (void)parse_allocator_config(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {':', ',', '[', ']', ' ', '\0', '9'}) {
      std::string text = whole;
      text[at] = c;
      (void)parse_allocator_config(text);
    }
  }
}

TEST(AllocatorConfig, DescribesItselfSoThatItReadsBack) {
  EXPECT_EQ(describe_allocator_config({}), "default");
  for (const char* text :
       {"no_caching", "expandable_segments:True", "max_split_size_mb:128", "max_non_split_rounding_mb:64",
        "large_segment_size_mb:12", "roundup_power2_divisions:4", "garbage_collection_threshold:0.8",
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[2:4,16:8]",
        "roundup_power2_divisions:[1:4]", "roundup_power2_divisions:[1:4,16384:0,>:2]",
        "roundup_power2_divisions:[1:0,2:8]", "roundup_power2_divisions:[16384:0,>:8]",
        "expandable_segments:True,max_split_size_mb:200,large_segment_size_mb:100,garbage_collection_threshold:0.25"}) {
    EXPECT_EQ(describe_allocator_config(parsed(text)), text);
  }
}

// All lists of three different values in three places, of which the description has to be one that gives it back.
TEST(AllocatorConfig, DescribesEveryListOfDivisions) {
  for (std::size_t a = 0; a < 16; ++a) {
    for (std::size_t b = a; b < 16; ++b) {
      for (const std::int64_t first : {0, 1, 8}) {
        for (const std::int64_t middle : {0, 2, 8}) {
          for (const std::int64_t last : {0, 4, 8}) {
            AllocatorConfig config;
            for (std::size_t i = 0; i < 16; ++i) {
              config.roundup_power2_divisions[i] = i < a ? first : i < b ? middle : last;
            }
            ASSERT_EQ(parsed(describe_allocator_config(config)), config) << describe_allocator_config(config);
          }
        }
      }
    }
  }
}

MemorySnapshot recorded(const SnapshotSettings& settings) {
  MemorySnapshot snapshot;
  snapshot.settings = settings;
  snapshot.settings.is_recorded = true;
  return snapshot;
}

TEST(AllocatorConfig, TakesTheRecordedNumbersBeforeTheText) {
  SnapshotSettings settings;
  settings.conf = "expandable_segments:True,max_split_size_mb:128,large_segment_size_mb:40";
  settings.expandable_segments = false;
  settings.garbage_collection_threshold = 0.5;
  settings.roundup_power2_divisions = {{1, 0}, {2, 4}, {32768, 8}, {65536, 2}, {-3, 2}};
  const AllocatorConfig config = recorded_allocator_config(recorded(settings));
  EXPECT_FALSE(config.expandable_segments);
  EXPECT_EQ(config.max_split_size_bytes, std::nullopt);
  EXPECT_EQ(config.large_segment_bytes, 40 * kMiB);
  EXPECT_EQ(config.garbage_collection_threshold, 0.5);
  EXPECT_EQ(config.roundup_power2_divisions[1], 4);
  EXPECT_EQ(config.roundup_power2_divisions[15], 8);
}

TEST(AllocatorConfig, SeesExpandableSegmentsWhereNoSettingsAreRecorded) {
  MemorySnapshot snapshot;
  EXPECT_FALSE(recorded_allocator_config(snapshot).expandable_segments);
  SnapshotEntries::Row entry;
  entry.action = AllocatorAction::kSegmentMap;
  snapshot.entries.push_back(entry);
  EXPECT_TRUE(recorded_allocator_config(snapshot).expandable_segments);
}

// In older versions private pools had plain segments all the same.
TEST(AllocatorConfig, SeesPlainPrivatePoolsOfOlderVersions) {
  SnapshotSettings settings;
  settings.expandable_segments = true;
  MemorySnapshot snapshot = recorded(settings);
  EXPECT_TRUE(recorded_allocator_config(snapshot).expandable_private_pools);
  snapshot.pools.push_back({0, 1});
  SnapshotSegments::Row segment;
  segment.pool = SnapshotPoolId(0);
  snapshot.segments.push_back(segment);
  EXPECT_FALSE(recorded_allocator_config(snapshot).expandable_private_pools);
}

TEST(AllocatorConfig, TakesNoImpossibleRecording) {
  SnapshotSettings settings;
  settings.conf = "something:[else";
  settings.garbage_collection_threshold = 7;
  settings.max_split_size_bytes = -1;
  settings.others = {{"large_segment_size", "-5"}};
  EXPECT_EQ(recorded_allocator_config(recorded(settings)), AllocatorConfig{});
}

TEST(AllocatorRules, RoundsRequests) {
  const AllocatorConfig plain;
  EXPECT_EQ(round_request(plain, 0), 512);
  EXPECT_EQ(round_request(plain, 512), 512);
  EXPECT_EQ(round_request(plain, 513), 1024);
  EXPECT_EQ(round_request(plain, 3 * kMiB + 1), 3 * kMiB + 512);
  EXPECT_EQ(round_request(plain, std::numeric_limits<std::int64_t>::max()), kMostBytes);
}

// 4 divisions: 1, 1.25, 1.5, 1.75, 2 MiB.
TEST(AllocatorRules, RoundsToDivisionsOfAPowerOfTwo) {
  const AllocatorConfig config = parsed("roundup_power2_divisions:4");
  EXPECT_EQ(round_request(config, kMiB), kMiB);
  EXPECT_EQ(round_request(config, kMiB + 1), kMiB * 5 / 4);
  EXPECT_EQ(round_request(config, kMiB * 5 / 4 + 1), kMiB * 3 / 2);
  EXPECT_EQ(round_request(config, 2 * kMiB - 1), 2 * kMiB);
  EXPECT_EQ(round_request(config, 1200), 1536) << "up to 512 times the divisions as without";
  EXPECT_EQ(round_request(config, 2049), 2560);
}

TEST(AllocatorRules, SizesSegments) {
  const AllocatorConfig plain;
  EXPECT_EQ(segment_bytes_for(plain, kMiB), 2 * kMiB);
  EXPECT_EQ(segment_bytes_for(plain, kMiB + 512), 20 * kMiB);
  EXPECT_EQ(segment_bytes_for(plain, 10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(segment_bytes_for(plain, 10 * kMiB), 10 * kMiB);
  EXPECT_EQ(segment_bytes_for(plain, 11 * kMiB), 12 * kMiB);
  EXPECT_EQ(segment_bytes_for(parsed("large_segment_size_mb:40"), 5 * kMiB), 40 * kMiB);
}

TEST(AllocatorRules, SplitsWhatIsWorthIt) {
  const AllocatorConfig plain;
  EXPECT_TRUE(should_split(plain, true, false, 1024, 512));
  EXPECT_FALSE(should_split(plain, true, false, 1024, 1024));
  EXPECT_FALSE(should_split(plain, false, false, 3 * kMiB, 2 * kMiB)) << "a rest of 1 MiB is not split off";
  EXPECT_TRUE(should_split(plain, false, false, 3 * kMiB + 512, 2 * kMiB));
  EXPECT_TRUE(should_split(plain, false, true, 2 * kMiB + 512, 2 * kMiB));
  const AllocatorConfig limited = parsed("max_split_size_mb:20");
  EXPECT_TRUE(should_split(limited, false, false, 60 * kMiB, 19 * kMiB));
  EXPECT_FALSE(should_split(limited, false, false, 60 * kMiB, 20 * kMiB));
}

}  // namespace
}  // namespace stepscope
