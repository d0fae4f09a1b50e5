// Names are exact: a peak is for one board and one data type, or there is none.
#include "efficiency/peaks.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

TEST(Peaks, BoardsOfOneChipDiffer) {
  EXPECT_EQ(find_device_peak("NVIDIA H200", "bf16")->flops_per_s, 989e12);
  EXPECT_EQ(find_device_peak("NVIDIA H100 80GB HBM3", "bf16")->flops_per_s, 989e12);
  EXPECT_EQ(find_device_peak("NVIDIA H100 PCIe", "bf16")->flops_per_s, 756e12);
  EXPECT_EQ(find_device_peak("NVIDIA H100 NVL", "bf16")->flops_per_s, 835.5e12);
  EXPECT_EQ(find_device_peak("NVIDIA H200", "fp32")->flops_per_s, 67e12);
}

TEST(Peaks, NoGuesses) {
  EXPECT_FALSE(find_device_peak("Madeup Accelerator 9000", "bf16"));
  EXPECT_FALSE(find_device_peak("NVIDIA H100", "bf16"));
  EXPECT_FALSE(find_device_peak("nvidia h200", "bf16"));
  EXPECT_FALSE(find_device_peak("Tesla V100-SXM2-16GB", "bf16"));
  EXPECT_FALSE(find_device_peak("NVIDIA H200", ""));
}

TEST(Peaks, EveryRowIsWholeAndUnique) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const DevicePeak& peak : device_peaks()) {
    EXPECT_TRUE(seen.insert({peak.device_name, peak.dtype}).second) << peak.device_name << ' ' << peak.dtype;
    EXPECT_FALSE(peak.source.empty());
    EXPECT_GT(peak.flops_per_s, 1e12);
    EXPECT_GT(peak.memory_bytes_per_s, 1e11);
  }
}

}  // namespace
}  // namespace stepscope
