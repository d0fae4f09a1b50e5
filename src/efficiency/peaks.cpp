// The sheets, one row a board.
//
// Sources are the vendors' data sheets and architecture papers; where a sheet prints a figure with sparsity, it is
// halved, and where it prints one for a system of 8 GPUs (HGX B200, HGX B300) an eighth is taken. A figure is that of
// matrix products, on the unit that the vendor's library uses for the type: tensor (matrix) cores for bf16, fp16, tf32,
// fp8, int8 and fp64 where they exist (cuBLAS multiplies fp64 matrices on them from A100 on: the sheets' other figure,
// 34 TFLOP/s on H200, would be exceeded, 59 was measured on an H200 NVL); for fp32 the vector units on NVIDIA, where
// tensor cores know only TF32, and the matrix cores on AMD. 0: the device has no such unit, or its sheet does not say.
//
// How the rows were checked: peaks_test.cpp computes units * operations a clock * boost clock for every board whose
// sheet or paper names all three, which is a second source. The others (H100 NVL, H200 NVL, GH200, GB200, GB300, B200,
// B300, H20) share a chip with a board that is, and were compared with two independent copies each on 2026-11-30:
// docs/decisions/device-peaks.md. A figure with one source only is 0 here (FP64 of GB300, FP32 of MI355X).
//
// Names are those the drivers report (torch.cuda.get_device_name). A device that is not here has no peak. Left out on
// purpose: boards whose peak depends on the cloud that sells them (A10G), laptop parts (their power limit decides), and
// fp8 on GeForce boards (two figures, and the library's choice of accumulator decides).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "stepscope/efficiency.h"

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

constexpr std::string_view kB300 = "NVIDIA HGX B300 specifications, 2025";
constexpr std::string_view kGb200 = "NVIDIA Blackwell data sheet (GB200 NVL72), 2025";
constexpr std::string_view kGb300 = "NVIDIA GB300 NVL72 specifications, 2025";
constexpr std::string_view kB200 = "NVIDIA HGX B200 specifications, 2025";
constexpr std::string_view kH200 = "NVIDIA H200 data sheet, 2024";
constexpr std::string_view kGh200 = "NVIDIA GH200 data sheet, 2024";
constexpr std::string_view kH100 = "NVIDIA H100 data sheet, 2024";
constexpr std::string_view kH20 = "NVIDIA H20 specifications, 2024";
constexpr std::string_view kH800 = "NVIDIA H800 specifications, 2023";
constexpr std::string_view kA800 = "NVIDIA A800 data sheet, 2022";
constexpr std::string_view kH100Pcie = "NVIDIA H100 data sheet, 2023";
constexpr std::string_view kA100 = "NVIDIA A100 data sheet, 2021";
constexpr std::string_view kA30 = "NVIDIA A30 data sheet, 2021";
constexpr std::string_view kA40 = "NVIDIA A40 data sheet, 2021";
constexpr std::string_view kA10 = "NVIDIA A10 data sheet, 2021";
constexpr std::string_view kA6000 = "NVIDIA RTX A6000 data sheet, 2021";
constexpr std::string_view kL40S = "NVIDIA L40S data sheet, 2023";
constexpr std::string_view kL40 = "NVIDIA L40 data sheet, 2023";
constexpr std::string_view kL4 = "NVIDIA L4 data sheet, 2023";
constexpr std::string_view kAda6000 = "NVIDIA RTX 6000 Ada data sheet, 2023";
constexpr std::string_view kAda = "NVIDIA Ada architecture paper, 2022";
constexpr std::string_view kGA102 = "NVIDIA GA102 architecture paper, 2020";
constexpr std::string_view kV100 = "NVIDIA V100 data sheet, 2020";
constexpr std::string_view kT4 = "NVIDIA T4 data sheet, 2019";
constexpr std::string_view kMI355X = "AMD CDNA 4 architecture paper, 2025";
constexpr std::string_view kMI325X = "AMD Instinct MI325X data sheet, 2024";
constexpr std::string_view kMI300X = "AMD Instinct MI300X data sheet, 2023";
constexpr std::string_view kMI250X = "AMD Instinct MI250X data sheet, 2021, one die";
constexpr std::string_view kMI210 = "AMD Instinct MI210 data sheet, 2022";
constexpr std::string_view kMI100 = "AMD Instinct MI100 data sheet, 2020";

// clang-format off
constexpr std::array kSheets = {
    //                                             bf16    fp16    tf32   fp32   fp64    fp8    int8    GB/s
    Sheet{{"NVIDIA B300 SXM6 AC"},                 2250,   2250,   1125,    75,  1.25,  4500,      0,   8000, kB300},
    Sheet{{"NVIDIA GB300"},                        2500,   2500,   1250,    80,     0,  5000,      0,   8000, kGb300},
    Sheet{{"NVIDIA GB200"},                        2500,   2500,   1250,    80,    40,  5000,   5000,   8000, kGb200},
    Sheet{{"NVIDIA B200"},                         2250,   2250,   1125,    75,    37,  4500,   4500,   7700, kB200},
    Sheet{{"NVIDIA H200"},                          989,    989,    494,    67,    67,  1979,   1979,   4800, kH200},
    Sheet{{"NVIDIA H200 NVL"},                    835.5,  835.5,  417.5,    60,    60, 1670.5, 1670.5,  4800, kH200},
    Sheet{{"NVIDIA GH200 480GB"},                   989,    989,    494,    67,    67,  1979,   1979,   4000, kGh200},
    Sheet{{"NVIDIA H100 80GB HBM3"},                989,    989,    494,    67,    67,  1979,   1979,   3350, kH100},
    Sheet{{"NVIDIA H100 NVL"},                    835.5,  835.5,  417.5,    60,    60, 1670.5, 1670.5,  3900, kH100},
    Sheet{{"NVIDIA H100 PCIe"},                     756,    756,    378,    51,    51,  1513,   1513,   2000, kH100Pcie},
    // The same chip for markets under export rules: H800 and A800 keep these figures, H20 does not.
    Sheet{{"NVIDIA H800"},                          989,    989,    494,     0,     0,  1979,   1979,   3350, kH800},
    Sheet{{"NVIDIA H20"},                           148,    148,     74,    44,     0,   296,    296,   4000, kH20},
    Sheet{{"NVIDIA A800-SXM4-80GB"},                312,    312,    156,     0,     0,     0,    624,   2039, kA800},
    Sheet{{"NVIDIA A100-SXM4-80GB",
           "A100-SXM4-80GB"},                       312,    312,    156,  19.5,  19.5,     0,    624,   2039, kA100},
    Sheet{{"NVIDIA A100-SXM4-40GB",
           "A100-SXM4-40GB"},                       312,    312,    156,  19.5,  19.5,     0,    624,   1555, kA100},
    Sheet{{"NVIDIA A100 80GB PCIe"},                312,    312,    156,  19.5,  19.5,     0,    624,   1935, kA100},
    Sheet{{"NVIDIA A100-PCIE-40GB",
           "A100-PCIE-40GB"},                       312,    312,    156,  19.5,  19.5,     0,    624,   1555, kA100},
    Sheet{{"NVIDIA A30"},                           165,    165,     82,  10.3,  10.3,     0,    330,    933, kA30},
    Sheet{{"NVIDIA A40"},                         149.7,  149.7,   74.8,  37.4,     0,     0,  299.3,    696, kA40},
    Sheet{{"NVIDIA A10"},                           125,    125,   62.5,  31.2,     0,     0,    250,    600, kA10},
    Sheet{{"NVIDIA RTX A6000"},                   154.8,  154.8,   77.4,  38.7,     0,     0,  309.7,    768, kA6000},
    Sheet{{"NVIDIA L40S"},                       362.05, 362.05,    183,  91.6,     0,   733,    733,    864, kL40S},
    Sheet{{"NVIDIA L40"},                        181.05, 181.05,   90.5,  90.5,     0,   362,    362,    864, kL40},
    Sheet{{"NVIDIA L4"},                            121,    121,     60,  30.3,     0, 242.5,  242.5,    300, kL4},
    Sheet{{"NVIDIA RTX 6000 Ada Generation"},     364.2,  364.2,  182.1,  91.1,     0, 728.5,  728.5,    960, kAda6000},
    // fp16 with fp32 accumulation, as PyTorch computes; half of the figure on the box.
    Sheet{{"NVIDIA GeForce RTX 4090"},            165.2,  165.2,   82.6,  82.6,     0,     0,  660.6,   1008, kAda},
    Sheet{{"NVIDIA GeForce RTX 3090"},               71,     71,   35.6,  35.6,     0,     0,    284,    936, kGA102},
    Sheet{{"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB",
           "NVIDIA Tesla V100-SXM2-16GB",
           "NVIDIA Tesla V100-SXM2-32GB"},            0,    125,      0,  15.7,   7.8,     0,      0,    900, kV100},
    Sheet{{"Tesla V100-PCIE-16GB",
           "Tesla V100-PCIE-32GB"},                   0,    112,      0,    14,     7,     0,      0,    900, kV100},
    Sheet{{"Tesla V100S-PCIE-32GB"},                  0,    130,      0,  16.4,   8.2,     0,      0,   1134, kV100},
    Sheet{{"Tesla T4", "NVIDIA T4"},                  0,     65,      0,   8.1,     0,     0,    130,    300, kT4},
    Sheet{{"AMD Instinct MI355X"},               2516.6, 2516.6,      0,     0,     0, 5033.2,      0,   8000, kMI355X},
    Sheet{{"AMD Instinct MI350X"},               2306.9, 2306.9,      0,     0,     0, 4613.7,      0,   8000, kMI355X},
    Sheet{{"AMD Instinct MI325X"},               1307.4, 1307.4,  653.7, 163.4, 163.4, 2614.9, 2614.9,  6000, kMI325X},
    Sheet{{"AMD Instinct MI300X",
           "AMD Instinct MI300X OAM"},           1307.4, 1307.4,  653.7, 163.4, 163.4, 2614.9, 2614.9,  5300, kMI300X},
    // One device is one of the two dies of the module: half of the module's figure.
    Sheet{{"AMD Instinct MI250X"},                191.5,  191.5,      0, 47.85, 47.85,     0,  191.5, 1638.4, kMI250X},
    Sheet{{"AMD Instinct MI210"},                   181,    181,      0,  45.3,  45.3,     0,    181, 1638.4, kMI210},
    Sheet{{"AMD Instinct MI100"},                  92.3,  184.6,      0,  46.1,  11.5,     0,  184.6, 1228.8, kMI100},
};
// clang-format on

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

using Words = std::vector<std::string>;

// Letters and digits, in small letters: "NVIDIA A100-SXM4-80GB" is nvidia, a100, sxm4, 80gb.
Words split_words(std::string_view text) {
  Words words(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// These stand in most names and tell nothing apart.
bool is_maker(const std::string& word) {
  constexpr std::array<std::string_view, 6> kMakers = {"nvidia", "amd", "tesla", "geforce", "instinct", "rtx"};
  return std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end();
}

// "h100" and "h10" begin h100; "4090" ends rtx4090 when typed as one word.
bool is_alike(const std::string& typed, const std::string& word) {
  return word.starts_with(typed) || typed.ends_with(word);
}

int count_alike(const Words& typed, const Words& name) {
  int count = 0;
  for (const std::string& word : typed) {
    const bool found = !is_maker(word) && std::any_of(name.begin(), name.end(), [&](const std::string& other) {
      return !is_maker(other) && is_alike(word, other);
    });
    count += found ? 1 : 0;
  }
  return count;
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

std::vector<std::string_view> find_similar_devices(std::string_view text, std::size_t most) {
  const Words typed = split_words(text);
  std::vector<std::pair<int, std::string_view>> found;
  for (const Sheet& sheet : kSheets) {
    for (const std::string_view name : sheet.names) {
      const int count = count_alike(typed, split_words(name));
      if (count > 0) found.emplace_back(-count, name);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.size() < b.second.size();
  });
  std::vector<std::string_view> names;
  for (const auto& [count, name] : found) {
    if (names.size() < most) names.push_back(name);
  }
  return names;
}

}  // namespace stepscope
