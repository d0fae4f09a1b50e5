// What PyTorch's export_memory_timeline says, from the `[memory]` events of a trace: who held the memory, moment by
// moment, by what it was for.
//
// Times and bytes of creations and destructions are the trace's own and equal torch's. Torch follows tensors by their
// identity, which no trace file has, so three things differ: there are no rows for new versions of a tensor (action 3);
// what was there before is one row a block that is freed later and one row for what never is (torch: one a tensor it
// met); and categories are inferred from where memory was taken and given back:
//
//   taken in                      given back in                  category
//   an operator                   the same operator              temporary
//   Optimizer.step#...            that step                      temporary
//                                 later, or never                optimizer state
//   backward                      backward                       autograd detail
//                                 elsewhere, or never            gradient
//   a factory (aten::randn), or
//   a copy from the host          -                              input
//   any other operator            -                              activation
//   before the recording          backward                       activation
//                                 Optimizer.zero_grad#, .step#   gradient
//                                 never                          parameter, as many bytes as the gradients of a step;
//                                                                the rest unknown
//
// How often that agrees with torch: docs/formats/memory-timeline.md.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// In torch's order: the number is the category of its raw export, and one less than the column of its levels.
enum class TimelineCategory : std::uint8_t {
  kParameter,
  kOptimizerState,
  kInput,
  kTemporary,
  kActivation,
  kGradient,
  kAutogradDetail,
  kUnknown,
};
inline constexpr std::size_t kTimelineCategoryCount = 8;
[[nodiscard]] std::string_view timeline_category_name(TimelineCategory category);  // "parameter", ...

// By torch's numbers.
enum class TimelineAction : std::uint8_t { kPreexisting = 1, kCreate = 2, kDestroy = 4 };

struct TimelineRow {
  TimeNs time_ns = -1;  // on the trace's clock; -1: before the recording
  TimelineAction action = TimelineAction::kPreexisting;
  TimelineCategory category = TimelineCategory::kUnknown;
  std::int64_t bytes = 0;  // < 0 destroyed
};

struct MemoryTimeline {
  std::optional<std::int64_t> device_number;  // missing: the trace has no memory events of the device
  std::int64_t base_ns = 0;                   // add to time_ns for the time since 1970
  // By (time, action): what was there before comes first.
  std::vector<TimelineRow> rows;
};

// The CPU's memory, for compute_memory_timeline.
inline constexpr std::int64_t kTimelineCpu = -1;

// `device_number`: that GPU, or kTimelineCpu; missing: the GPU with most events.
[[nodiscard]] MemoryTimeline compute_memory_timeline(const Trace& trace, std::optional<std::int64_t> device_number);

// Bytes held of each category after all that happened within a microsecond, as torch's levels are.
struct TimelineLevel {
  std::int64_t time_us = 0;  // since 1970; of what was there before: of the first event
  std::array<std::int64_t, kTimelineCategoryCount> bytes{};
  [[nodiscard]] std::int64_t total_bytes() const;
};
[[nodiscard]] std::vector<TimelineLevel> compute_timeline_levels(const MemoryTimeline& timeline);

}  // namespace stepscope
