// The parts that memory_report.cpp, memory_diff.cpp and memory_folded.cpp share: which device, which moment, what is
// live.
#pragma once

#include "report/memory_report.h"

namespace stepscope {

struct LiveMoment {
  SnapshotDeviceId device;
  std::string at;
  std::size_t moment = 0;
};
// What options.at says on the device; "peak", or "end" where it has no history, if it says nothing.
[[nodiscard]] Result<LiveMoment> choose_moment(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                               SnapshotDeviceId device, const MemoryReportOptions& options);
[[nodiscard]] MemoryPlace place_after(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                      std::size_t moment);
[[nodiscard]] std::vector<LiveGroup> clean_groups(std::vector<LiveGroup> groups);

}  // namespace stepscope
