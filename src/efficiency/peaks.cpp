// The sheets, one line a device family.
//
// Sources are the vendors' data sheets and architecture papers. Where a sheet prints the figure with sparsity, it
// is halved. Tensor (matrix) figures for bf16, fp16, tf32, fp8 and int8; fp32 and fp64 are the vector figures, since
// that is what a matrix product runs at without the tensor cores. 0 = the device has no such unit, or its sheet does
// not say. Names are those the drivers report (torch.cuda.get_device_name); a device that is not here has no peak. Left
// out on purpose: boards whose peak depends on the cloud that sells them (A10G) and laptop parts (their power limit
// decides).
#include "efficiency/peaks.h"

#include <array>
#include <vector>

namespace stepscope {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

struct Sheet {
  std::array<std::string_view, 4> names;           // empty where fewer
  double bf16, fp16, tf32, fp32, fp64, fp8, int8;  // TFLOP/s, dense
  double memory;                                   // GB/s
  std::string_view source;
};

constexpr std::array kSheets = {
    Sheet{{"NVIDIA H200"}, 989, 989, 494, 67, 34, 1979, 1979, 4800, "NVIDIA H200 data sheet, 2024"},
    Sheet{{"NVIDIA H200 NVL"}, 835.5, 835.5, 417.5, 60, 30, 1670.5, 1670.5, 4800, "NVIDIA H200 data sheet, 2024"},
    Sheet{{"NVIDIA H100 80GB HBM3"}, 989, 989, 494, 67, 34, 1979, 1979, 3350, "NVIDIA H100 data sheet, 2024"},
    Sheet{{"NVIDIA H100 PCIe"}, 756, 756, 378, 51, 26, 1513, 1513, 2000, "NVIDIA H100 data sheet, 2023"},
    Sheet{{"NVIDIA H100 NVL"}, 835.5, 835.5, 417.5, 60, 30, 1670.5, 1670.5, 3900, "NVIDIA H100 data sheet, 2024"},
    Sheet{{"NVIDIA GH200 480GB"}, 989, 989, 494, 67, 34, 1979, 1979, 4000, "NVIDIA GH200 data sheet, 2024"},
    Sheet{{"NVIDIA B200"}, 2250, 2250, 1125, 75, 37, 4500, 4500, 8000, "NVIDIA Blackwell architecture brief, 2024"},
    Sheet{{"NVIDIA GB200"}, 2500, 2500, 1250, 80, 40, 5000, 5000, 8000, "NVIDIA GB200 NVL72 data sheet, 2024"},
    Sheet{{"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
          312,
          312,
          156,
          19.5,
          9.7,
          0,
          624,
          2039,
          "NVIDIA A100 data sheet, 2021"},
    Sheet{{"NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"},
          312,
          312,
          156,
          19.5,
          9.7,
          0,
          624,
          1555,
          "NVIDIA A100 data sheet, 2021"},
    Sheet{{"NVIDIA A100 80GB PCIe"}, 312, 312, 156, 19.5, 9.7, 0, 624, 1935, "NVIDIA A100 data sheet, 2021"},
    Sheet{{"NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB"},
          312,
          312,
          156,
          19.5,
          9.7,
          0,
          624,
          1555,
          "NVIDIA A100 data sheet, 2021"},
    Sheet{{"NVIDIA A30"}, 165, 165, 82, 10.3, 5.2, 0, 330, 933, "NVIDIA A30 data sheet, 2021"},
    Sheet{{"NVIDIA A40"}, 149.7, 149.7, 74.8, 37.4, 0, 0, 299.3, 696, "NVIDIA A40 data sheet, 2021"},
    Sheet{{"NVIDIA A10"}, 125, 125, 62.5, 31.2, 0, 0, 250, 600, "NVIDIA A10 data sheet, 2021"},
    Sheet{{"NVIDIA RTX A6000"}, 154.8, 154.8, 77.4, 38.7, 0, 0, 309.7, 768, "NVIDIA RTX A6000 data sheet, 2021"},
    Sheet{{"NVIDIA L40S"}, 362.05, 362.05, 183, 91.6, 0, 733, 733, 864, "NVIDIA L40S data sheet, 2023"},
    Sheet{{"NVIDIA L40"}, 181.05, 181.05, 90.5, 90.5, 0, 362, 362, 864, "NVIDIA L40 data sheet, 2023"},
    Sheet{{"NVIDIA L4"}, 121, 121, 60, 30.3, 0, 242.5, 242.5, 300, "NVIDIA L4 data sheet, 2023"},
    Sheet{{"NVIDIA RTX 6000 Ada Generation"},
          364.2,
          364.2,
          182.1,
          91.1,
          0,
          728.5,
          728.5,
          960,
          "NVIDIA RTX 6000 Ada data sheet, 2023"},
    // fp16 with fp32 accumulation, as PyTorch computes; half of the figure on the box.
    Sheet{{"NVIDIA GeForce RTX 4090"},
          165.2,
          165.2,
          82.6,
          82.6,
          0,
          330.3,
          660.6,
          1008,
          "NVIDIA Ada architecture paper, 2022"},
    Sheet{{"NVIDIA GeForce RTX 3090"}, 71, 71, 35.6, 35.6, 0, 0, 284, 936, "NVIDIA GA102 architecture paper, 2020"},
    Sheet{
        {"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "NVIDIA Tesla V100-SXM2-16GB", "NVIDIA Tesla V100-SXM2-32GB"},
        0,
        125,
        0,
        15.7,
        7.8,
        0,
        0,
        900,
        "NVIDIA V100 data sheet, 2020"},
    Sheet{
        {"Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"}, 0, 112, 0, 14, 7, 0, 0, 900, "NVIDIA V100 data sheet, 2020"},
    Sheet{{"Tesla V100S-PCIE-32GB"}, 0, 130, 0, 16.4, 8.2, 0, 0, 1134, "NVIDIA V100 data sheet, 2020"},
    Sheet{{"Tesla T4", "NVIDIA T4"}, 0, 65, 0, 8.1, 0, 0, 130, 300, "NVIDIA T4 data sheet, 2019"},
    Sheet{{"AMD Instinct MI300X"},
          1307.4,
          1307.4,
          653.7,
          163.4,
          81.7,
          2614.9,
          2614.9,
          5300,
          "AMD Instinct MI300X data sheet, 2023"},
    Sheet{{"AMD Instinct MI325X"},
          1307.4,
          1307.4,
          653.7,
          163.4,
          81.7,
          2614.9,
          2614.9,
          6000,
          "AMD Instinct MI325X data sheet, 2024"},
    // One device is one of the two dies of the module: half of the module's figure.
    Sheet{{"AMD Instinct MI250X"},
          191.5,
          191.5,
          0,
          23.95,
          23.95,
          0,
          191.5,
          1638.4,
          "AMD Instinct MI250X data sheet, 2021, one die"},
    Sheet{{"AMD Instinct MI210"}, 181, 181, 0, 22.6, 22.6, 0, 181, 1638.4, "AMD Instinct MI210 data sheet, 2022"},
    Sheet{{"AMD Instinct MI100"}, 92.3, 184.6, 0, 23.1, 11.5, 0, 184.6, 1228.8, "AMD Instinct MI100 data sheet, 2020"},
};

std::vector<DevicePeak> expand_sheets() {
  std::vector<DevicePeak> out;
  for (const Sheet& sheet : kSheets) {
    const std::array<std::pair<std::string_view, double>, 7> peaks = {{{"bf16", sheet.bf16},
                                                                       {"fp16", sheet.fp16},
                                                                       {"tf32", sheet.tf32},
                                                                       {"fp32", sheet.fp32},
                                                                       {"fp64", sheet.fp64},
                                                                       {"fp8", sheet.fp8},
                                                                       {"int8", sheet.int8}}};
    for (const std::string_view name : sheet.names) {
      if (name.empty()) continue;
      for (const auto& [dtype, tera] : peaks) {
        if (tera > 0) out.push_back({name, dtype, tera * kTera, sheet.memory * kGiga, sheet.source});
      }
    }
  }
  return out;
}

}  // namespace

std::span<const DevicePeak> device_peaks() {
  static const std::vector<DevicePeak> kPeaks = expand_sheets();
  return kPeaks;
}

std::optional<DevicePeak> find_device_peak(std::string_view device_name, std::string_view dtype) {
  for (const DevicePeak& peak : device_peaks()) {
    if (peak.device_name == device_name && peak.dtype == dtype) return peak;
  }
  return std::nullopt;
}

}  // namespace stepscope
