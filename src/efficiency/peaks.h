// Peak FLOP/s of devices, dense, by data type, by exact device name, from the vendors' sheets.
//
// An unknown device has no peak: MFU is then "not available", never computed against a guess.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace stepscope {

struct DevicePeak {
  std::string_view device_name;  // as the driver reports it: "NVIDIA H200", "NVIDIA H100 80GB HBM3"
  std::string_view dtype;        // "bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8"
  double flops_per_s = 0;        // dense
  double memory_bytes_per_s = 0;
  std::string_view source;  // sheet and date
};

[[nodiscard]] std::span<const DevicePeak> device_peaks();
[[nodiscard]] std::optional<DevicePeak> find_device_peak(std::string_view device_name, std::string_view dtype);

}  // namespace stepscope
