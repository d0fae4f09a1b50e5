// The layout is that of torch/cuda/memory.py (2.13): widths, units and the rule that a pool's numbers have the unit of
// the row above them. Sizes change unit at 768 of the next smaller one, counts at 750 thousand.
#include "report/memory_summary.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace stepscope {
namespace {

using Number = std::optional<std::int64_t>;

// Divided as often as `scale` asks for; the unit of the last division.
template <std::size_t kCount>
std::string show(Number number, Number scale, std::int64_t step, double limit,
                 const std::array<std::string_view, kCount>& units, int width, std::string_view end) {
  if (!number) return fmt::format("{:>{}} {}{}", "-", width, std::string(units[0].size(), ' '), end);
  double preferred = static_cast<double>(scale.value_or(*number));
  std::size_t unit = 0;
  std::int64_t shown = *number;
  for (; unit + 1 < kCount && preferred >= limit; ++unit) {
    shown /= step;
    preferred /= static_cast<double>(step);
  }
  return fmt::format("{:{}d} {}{}", shown, width, units[unit], end);
}

std::string show_size(Number number, Number scale) {
  static constexpr std::array<std::string_view, 6> kUnits = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return show(number, scale, 1024, 768.0 * 1024, kUnits, 6, "");
}
std::string show_count(Number number, Number scale) {
  static constexpr std::array<std::string_view, 3> kUnits = {" ", "K", "M"};
  return show(number, scale, 1000, 750.0 * 1000, kUnits, 7, " ");
}

using Show = std::string (*)(Number, Number);
struct Row {
  AllocatorMetric metric;
  std::string_view title;
  Show show;
};
constexpr std::array<Row, kAllocatorMetricCount> kRows = {{
    {AllocatorMetric::kAllocatedBytes, "Allocated memory", show_size},
    {AllocatorMetric::kActiveBytes, "Active memory", show_size},
    {AllocatorMetric::kRequestedBytes, "Requested memory", show_size},
    {AllocatorMetric::kReservedBytes, "GPU reserved memory", show_size},
    {AllocatorMetric::kInactiveSplitBytes, "Non-releasable memory", show_size},
    {AllocatorMetric::kAllocation, "Allocations", show_count},
    {AllocatorMetric::kActive, "Active allocs", show_count},
    {AllocatorMetric::kSegment, "GPU reserved segments", show_count},
    {AllocatorMetric::kInactiveSplit, "Non-releasable allocs", show_count},
}};

constexpr int kWidth = 75;
std::string rule(char c) { return "|" + std::string(kWidth, c) + "|\n"; }

std::string row_text(std::string_view title, const AllocatorStat& stat, const AllocatorStat& scale, Show show_number) {
  return fmt::format("| {:<21} | {} | {} | {} | {} |\n", title, show_number(stat.current, scale.current),
                     show_number(stat.peak, scale.peak), show_number(stat.allocated, scale.allocated),
                     show_number(stat.freed, scale.freed));
}

std::string count_text(Number number) { return number ? std::to_string(*number) : "-"; }

}  // namespace

std::string write_memory_summary(const AllocatorStats& stats, bool abbreviated) {
  std::string out = rule('=');
  out += fmt::format("|{:17} PyTorch CUDA memory summary, device ID {:<17d} |\n", "", stats.device_number);
  out += rule('-');
  out += fmt::format("|{:11} CUDA OOMs: {:<12s} |{:8}cudaMalloc retries: {:<8s}  |\n", "", count_text(stats.oom_count),
                     "", count_text(stats.alloc_retry_count));
  out += rule('=');
  out += "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n";
  for (const Row& row : kRows) {
    out += rule('-');
    const AllocatorStat& all = stats.of(row.metric);
    out += row_text(row.title, all, all, row.show);
    if (abbreviated) continue;
    out += row_text("      from large pool", stats.of(row.metric, StatPool::kLarge), all, row.show);
    out += row_text("      from small pool", stats.of(row.metric, StatPool::kSmall), all, row.show);
  }
  out += rule('-');
  out += row_text("Oversize allocations", stats.oversize_allocations, stats.oversize_allocations, show_count);
  out += rule('-');
  out += row_text("Oversize GPU segments", stats.oversize_segments, stats.oversize_segments, show_count);
  return out + rule('=');
}

std::string write_memory_stats_json(const AllocatorStats& stats) {
  std::string out = "{";
  for (const auto& [key, value] : list_allocator_stats(stats)) {
    out += fmt::format("{}\n  \"{}\": {}", out.size() > 1 ? "," : "", key, value ? std::to_string(*value) : "null");
  }
  return out + "\n}\n";
}

}  // namespace stepscope
