// Interval sets against a bitmap: every operation, on random sets over a small range.
#include "base/interval.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

#include "base/overlap.h"

namespace stepscope {
namespace {

constexpr std::size_t kRange = 64;
using Bits = std::bitset<kRange>;

Bits paint(std::span<const Interval> set) {
  Bits bits;
  for (const Interval& each : set) {
    for (TimeNs t = each.start_ns; t < each.end_ns; ++t) bits.set(static_cast<std::size_t>(t));
  }
  return bits;
}

void expect_canonical(const IntervalSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    EXPECT_LT(set[i].start_ns, set[i].end_ns);
    if (i > 0) {
      EXPECT_LE(set[i - 1].end_ns, set[i].start_ns);
    }
  }
}

TEST(Interval, AgreesWithBitmaps) {
  std::mt19937 random(7);
  auto some = [&] {
    std::vector<Interval> intervals(random() % 8);
    for (Interval& each : intervals) {
      each.start_ns = static_cast<TimeNs>(random() % kRange);
      each.end_ns = each.start_ns + static_cast<TimeNs>(random() % (kRange - static_cast<std::size_t>(each.start_ns)));
    }
    return intervals;
  };
  for (int round = 0; round < 2000; ++round) {
    const auto raw_a = some();
    const auto raw_b = some();
    const IntervalSet a = union_of(raw_a);
    const IntervalSet b = union_of(raw_b);
    expect_canonical(a);
    ASSERT_EQ(paint(a), paint(raw_a));
    ASSERT_EQ(paint(subtract(a, b)), paint(a) & ~paint(b));
    ASSERT_EQ(paint(intersect(a, b)), paint(a) & paint(b));
    ASSERT_EQ(static_cast<std::size_t>(length_ns(a)), paint(a).count());
    const Interval window{static_cast<TimeNs>(random() % 32), static_cast<TimeNs>(32 + random() % 32)};
    const Interval whole[] = {window};
    ASSERT_EQ(paint(clip(a, window)), paint(a) & paint(whole));
    ASSERT_EQ(overlap_ns(a, window), length_ns(clip(a, window)));
    ASSERT_EQ(paint(complement(a, window)), paint(whole) & ~paint(a));
    ASSERT_EQ(length_ns(complement(a, window)) + length_ns(clip(a, window)), window.length_ns());
  }
}

TEST(Interval, TouchingIntervalsBecomeOne) { EXPECT_EQ(union_of({{5, 7}, {1, 5}, {9, 9}}), (IntervalSet{{1, 7}})); }

TEST(Interval, EmptyWindowHasNoComplement) { EXPECT_TRUE(complement({}, {5, 5}).empty()); }

}  // namespace
}  // namespace stepscope
