// Patterns of operator names, and stretches of threads.
#include "analyze/replay/regions.h"

#include <gtest/gtest.h>

#include "analyze/replay/copy_path.h"
#include "analyze/replay/pauses.h"

namespace stepscope {
namespace {

TEST(Regions, Patterns) {
  EXPECT_TRUE(matches_pattern("aten::copy_", "aten::copy_"));
  EXPECT_TRUE(matches_pattern("aten::copy_", "aten::*"));
  EXPECT_TRUE(matches_pattern("aten::_foreach_add_", "*foreach*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("abcabd", "*ab*d"));
  EXPECT_FALSE(matches_pattern("aten::copy", "aten::copy_"));
  EXPECT_FALSE(matches_pattern("my::aten::copy_", "aten::*"));
  EXPECT_FALSE(matches_pattern("a", ""));
}

TEST(Regions, ManyStarsStayCheap) {
  EXPECT_FALSE(matches_pattern(std::string(3'000, 'a'), std::string(1'000, '*') + "a*a*a*a*a*b"));
}

TEST(Regions, OverlapOfAUnion) {
  HostRegions regions;
  const ThreadId thread(std::size_t{1});
  regions.add(thread, {10, 20});
  regions.add(thread, {15, 30});
  regions.add(thread, {40, 50});
  regions.add(thread, {60, 60});
  regions.finish();
  EXPECT_EQ(regions.overlap_ns(thread, {0, 100}), 30);
  EXPECT_EQ(regions.overlap_ns(thread, {29, 41}), 2);
  EXPECT_TRUE(regions.contains(thread, 10));
  EXPECT_FALSE(regions.contains(thread, 30));
  EXPECT_FALSE(regions.contains(ThreadId(std::size_t{0}), 15));
  EXPECT_FALSE(regions.contains(ThreadId(std::size_t{7}), 15));
}

TEST(CopyPath, Names) {
  EXPECT_EQ(classify_copy_name("Memcpy HtoD (Pageable -> Device)"), CopyPath::kPageableToDevice);
  EXPECT_EQ(classify_copy_name("Memcpy HtoD (Pinned -> Device)"), CopyPath::kHostToDevice);
  EXPECT_EQ(classify_copy_name("Memcpy DtoH (Device -> Pageable)"), CopyPath::kDeviceToHost);
  EXPECT_EQ(classify_copy_name("CopyHostToDevice"), CopyPath::kHostToDevice);
  EXPECT_EQ(classify_copy_name("CopyDeviceToHost"), CopyPath::kDeviceToHost);
  EXPECT_EQ(classify_copy_name("Memcpy DtoD (Device -> Device)"), CopyPath::kNone);
}

TEST(Pauses, GarbageCollection) {
  EXPECT_TRUE(names_garbage_collection("<built-in function collect>"));
  EXPECT_TRUE(names_garbage_collection("gc.collect"));
  EXPECT_FALSE(names_garbage_collection("collect_metrics"));
  EXPECT_FALSE(names_garbage_collection("train.py(3): collect"));
}

}  // namespace
}  // namespace stepscope
