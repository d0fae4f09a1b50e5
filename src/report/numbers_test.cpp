// The digits that first-screen texts show.
#include "report/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

TEST(Numbers, DurationsHaveThreeDigitsOrWhatTheirSpreadNeeds) {
  EXPECT_EQ(DurationFormat::pick(99'000'000, 2'200'000).text(99'000'000), "99.0 ms");
  EXPECT_EQ(DurationFormat::pick(22'660'000, 40'000).text(22'660'000), "22.66 ms");
  EXPECT_EQ(show_duration(1'234'567), "1.23 ms");
  EXPECT_EQ(show_duration(123'456), "123 us");
  EXPECT_EQ(show_duration(17), "17 ns");
  EXPECT_EQ(show_duration(0), "0 ns");
  EXPECT_EQ(show_duration(12'345'678'901), "12.3 s");
  EXPECT_EQ(show_duration(-3'000), "-3.00 us");
  (void)show_duration(std::numeric_limits<DurationNs>::min());
  (void)show_duration(std::numeric_limits<DurationNs>::max());
}

TEST(Numbers, ASharePartlyFullIsNeverAll) {
  EXPECT_EQ(show_percent(0.43), "43 %");
  EXPECT_EQ(show_percent(0.0432), "4.3 %");
  EXPECT_EQ(show_percent(0.0001), "<0.1 %");
  EXPECT_EQ(show_percent(0), "0 %");
  EXPECT_EQ(show_percent(0.9996), "99.9 %");
  EXPECT_EQ(show_percent(1), "100 %");
}

TEST(Numbers, CountsBytesAndFlops) {
  EXPECT_EQ(show_count(2979), "2,979");
  EXPECT_EQ(show_count(-1234567), "-1,234,567");
  EXPECT_EQ(show_count(12), "12");
  EXPECT_EQ(show_bytes(12'718'178'304), "11.8 GiB");
  EXPECT_EQ(show_bytes(512), "512 B");
  EXPECT_EQ(show_bytes(100 << 20), "100 MiB");
  EXPECT_EQ(show_flops(989e12), "989 TFLOP/s");
  EXPECT_EQ(show_flops(1.979e15), "1.98 PFLOP/s");
  EXPECT_EQ(show_counted(1, "kernel"), "1 kernel");
  EXPECT_EQ(show_counted(2, "launch", "launches"), "2 launches");
}

TEST(Numbers, QuantitiesHaveFourDigitsAndAPrefix) {
  EXPECT_EQ(show_quantity(84e15, "FLOP"), "84 PFLOP");
  EXPECT_EQ(show_quantity(569.664e15, "FLOP"), "569.7 PFLOP");
  EXPECT_EQ(show_quantity(999.96e12, "FLOP"), "1 PFLOP");
  EXPECT_EQ(show_quantity(1e21, "FLOP"), "1000 EFLOP");
  EXPECT_EQ(show_quantity(24'576'000, ""), "24.58 M");
  EXPECT_EQ(show_quantity(0, "FLOP"), "0 FLOP");
  EXPECT_EQ(show_quantity(7, ""), "7");
}

}  // namespace
}  // namespace stepscope
