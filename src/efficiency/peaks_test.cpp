// Names are exact: a peak is for one board and one data type, or there is none. The figures are checked against a
// second source each: what follows from the number of units, their operations a clock and the boost clock.
#include <gtest/gtest.h>

#include <set>

#include "stepscope/efficiency.h"

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
    EXPECT_NE(peak.source.find(", 20"), std::string_view::npos) << peak.source;  // the sheet's date
    EXPECT_GT(peak.flops_per_s, 1e12);
    EXPECT_GT(peak.memory_bytes_per_s, 1e11);
  }
}

// Multiprocessors (compute units), dense 16-bit operations of one in a clock, boost clock: from the architecture
// papers.
TEST(Peaks, FiguresFollowFromUnitsAndClock) {
  struct Board {
    const char* name;
    const char* dtype;
    double units, per_clock, megahertz;
  };
  for (const Board& board : {Board{"NVIDIA H200", "bf16", 132, 4096, 1830},
                             Board{"NVIDIA H200", "fp64", 132, 256, 1980},
                             Board{"NVIDIA H200", "fp32", 132, 256, 1980},
                             Board{"NVIDIA H100 80GB HBM3", "fp16", 132, 4096, 1830},
                             Board{"NVIDIA H100 PCIe", "bf16", 114, 4096, 1620},
                             Board{"NVIDIA H100 PCIe", "fp64", 114, 256, 1755},
                             Board{"NVIDIA A100-SXM4-80GB", "bf16", 108, 2048, 1410},
                             Board{"NVIDIA A100-SXM4-80GB", "fp64", 108, 128, 1410},
                             Board{"NVIDIA A100-SXM4-80GB", "fp32", 108, 128, 1410},
                             Board{"NVIDIA A30", "bf16", 56, 2048, 1440},
                             Board{"NVIDIA A40", "bf16", 84, 1024, 1740},
                             Board{"NVIDIA A10", "bf16", 72, 1024, 1695},
                             Board{"NVIDIA RTX A6000", "bf16", 84, 1024, 1800},
                             Board{"NVIDIA L40S", "bf16", 142, 1024, 2490},
                             Board{"NVIDIA L40", "bf16", 142, 512, 2490},
                             Board{"NVIDIA L4", "bf16", 58, 1024, 2040},
                             Board{"NVIDIA RTX 6000 Ada Generation", "bf16", 142, 1024, 2505},
                             Board{"NVIDIA GeForce RTX 4090", "bf16", 128, 512, 2520},
                             Board{"NVIDIA GeForce RTX 4090", "int8", 128, 2048, 2520},
                             Board{"NVIDIA GeForce RTX 3090", "fp16", 82, 512, 1695},
                             Board{"Tesla V100-SXM2-16GB", "fp16", 80, 1024, 1530},
                             Board{"Tesla V100-PCIE-16GB", "fp16", 80, 1024, 1370},
                             Board{"Tesla V100S-PCIE-32GB", "fp16", 80, 1024, 1597},
                             Board{"Tesla T4", "fp16", 40, 1024, 1590},
                             Board{"AMD Instinct MI355X", "bf16", 256, 4096, 2400},
                             Board{"AMD Instinct MI350X", "fp8", 256, 8192, 2200},
                             Board{"NVIDIA H800", "bf16", 132, 4096, 1830},
                             Board{"NVIDIA A800-SXM4-80GB", "bf16", 108, 2048, 1410},
                             Board{"AMD Instinct MI300X", "bf16", 304, 2048, 2100},
                             Board{"AMD Instinct MI325X", "fp8", 304, 4096, 2100},
                             Board{"AMD Instinct MI300X", "fp32", 304, 256, 2100},
                             Board{"AMD Instinct MI250X", "bf16", 110, 1024, 1700},
                             Board{"AMD Instinct MI250X", "fp64", 110, 256, 1700},
                             Board{"AMD Instinct MI210", "fp16", 104, 1024, 1700},
                             Board{"AMD Instinct MI100", "fp16", 120, 1024, 1502},
                             Board{"AMD Instinct MI100", "fp32", 120, 256, 1502}}) {
    const auto peak = find_device_peak(board.name, board.dtype);
    ASSERT_TRUE(peak) << board.name;
    const double computed = board.units * board.per_clock * board.megahertz * 1e6;
    EXPECT_NEAR(peak->flops_per_s / computed, 1, 0.01) << board.name << ' ' << board.dtype;
  }
}

// Halving the width of a type doubles the rate of the tensor cores, from Ampere on.
TEST(Peaks, TypesOfOneBoardKeepTheirRatios) {
  for (const DevicePeak& bf16 : device_peaks()) {
    if (bf16.dtype != "bf16" || bf16.device_name == "AMD Instinct MI100") continue;
    const auto ratio_of = [&](const char* dtype) {
      const auto peak = find_device_peak(bf16.device_name, dtype);
      return peak ? peak->flops_per_s / bf16.flops_per_s : 0;
    };
    EXPECT_EQ(ratio_of("fp16"), 1) << bf16.device_name;
    if (ratio_of("tf32") != 0) {
      EXPECT_NEAR(ratio_of("tf32"), 0.5, 0.01) << bf16.device_name;
    }
    if (ratio_of("fp8") != 0) {
      EXPECT_NEAR(ratio_of("fp8"), 2, 0.03) << bf16.device_name;
    }
    EXPECT_LT(ratio_of("fp32"), 1) << bf16.device_name;
    EXPECT_LE(ratio_of("fp64"), ratio_of("fp32")) << bf16.device_name;
  }
}

using Names = std::vector<std::string_view>;

TEST(Peaks, NearNamesOfWhatSomebodyTyped) {
  EXPECT_EQ(find_similar_devices("h200"), (Names{"NVIDIA H200", "NVIDIA H200 NVL"}));
  EXPECT_EQ(find_similar_devices("NVIDIA H100"),
            (Names{"NVIDIA H100 NVL", "NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"}));
  EXPECT_EQ(find_similar_devices("H100 PCIE").front(), "NVIDIA H100 PCIe");
  EXPECT_EQ(find_similar_devices("A100 40GB PCIe").front(), "A100-PCIE-40GB");
  EXPECT_EQ(find_similar_devices("rtx4090"), Names{"NVIDIA GeForce RTX 4090"});
  EXPECT_EQ(find_similar_devices("mi300", 1), Names{"AMD Instinct MI300X"});
  EXPECT_EQ(find_similar_devices("a100", 2).size(), 2U);
  EXPECT_TRUE(find_similar_devices("").empty());
  EXPECT_TRUE(find_similar_devices("NVIDIA").empty());
  EXPECT_TRUE(find_similar_devices("Madeup Accelerator 9000").empty());
  EXPECT_TRUE(find_similar_devices("\xff\xfe -- ").empty());
}

}  // namespace
}  // namespace stepscope
