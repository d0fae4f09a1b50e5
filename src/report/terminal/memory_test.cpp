// The memory section: peaks of the allocator, and what the process holds beside it.
#include <gtest/gtest.h>

#include <limits>

#include "report/terminal/sections.h"

namespace stepscope {
namespace {

constexpr std::int64_t kGiB = 1 << 30;

std::string section(const Report& report) {
  const Style style{.width = 100};
  Page page(style);
  add_memory(report, page);
  return page.text();
}

Report made(std::int64_t reserved_bytes, std::optional<std::int64_t> process_bytes,
            std::optional<std::int64_t> in_use_bytes = std::nullopt) {
  Report report;
  report.memory.recorded = true;
  DeviceMemoryLevels device;
  device.allocated_peak = MemoryPeak{30 * kGiB, 5};
  device.reserved_peak = MemoryPeak{reserved_bytes, 5};
  device.allocated_last_bytes = 20 * kGiB;
  device.reserved_last_bytes = reserved_bytes;
  device.process_last_bytes = process_bytes;
  device.in_use_last_bytes = in_use_bytes;
  report.memory.devices.push_back(device);
  return report;
}

TEST(MemorySection, ThePartThatNoAllocatorKnowsIsTold) {
  const std::string text = section(made(40 * kGiB, 43 * kGiB + kGiB / 2, 50 * kGiB));
  EXPECT_NE(text.find("process 43.5 GiB, allocator 40.0 GiB, rest 3.50 GiB (context, NCCL, workspaces) at the end"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("50.0 GiB"), std::string::npos) << "of all processes: not asked for where ours is known";
}

TEST(MemorySection, NoRestWhereTheNumbersContradict) {
  const std::string text = section(made(40 * kGiB, 39 * kGiB));
  EXPECT_NE(text.find("process 39.0 GiB, allocator 40.0 GiB at the end"), std::string::npos) << text;
  EXPECT_EQ(section(made(std::numeric_limits<std::int64_t>::min(), 39 * kGiB)).find("rest"), std::string::npos);
}

TEST(MemorySection, WithoutTheProcessWhatAllUse) {
  EXPECT_NE(section(made(40 * kGiB, std::nullopt, 50 * kGiB)).find("in use by all processes at the end: 50.0 GiB"),
            std::string::npos);
  EXPECT_EQ(section(made(40 * kGiB, std::nullopt)).find("process"), std::string::npos);
}

TEST(MemorySection, OnlyTheProcessIsKnown) {
  Report report;
  report.memory.recorded = true;
  DeviceMemoryLevels device;
  device.process_last_bytes = kGiB / 2;
  report.memory.devices.push_back(device);
  EXPECT_NE(section(report).find("process 512 MiB at the end"), std::string::npos) << section(report);
}

}  // namespace
}  // namespace stepscope
