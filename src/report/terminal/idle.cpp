// Why the GPU stood idle, by the name of what the host did instead of launching, or of the kernel that did not follow
// at once: the blame view in full.
#include <fmt/format.h>

#include <algorithm>

#include "report/kernel_name.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {
namespace {

// Between kernels the host did nothing wrong, and which kernel comes next is chance: one row for all of them.
std::vector<IdleDetail> with_gaps_joined(const std::vector<IdleDetail>& details) {
  std::vector<IdleDetail> joined;
  IdleDetail gaps{HostLabel::kKernelGap, "", 0};
  std::int64_t name_count = 0;
  for (const IdleDetail& detail : details) {
    if (detail.label != HostLabel::kKernelGap) {
      joined.push_back(detail);
      continue;
    }
    gaps.length_ns += detail.length_ns;
    ++name_count;
  }
  if (name_count == 0) return joined;
  gaps.name = "the GPU itself, before " + show_counted(name_count, "kernel name", "kernel names");
  joined.push_back(gaps);
  std::stable_sort(joined.begin(), joined.end(),
                   [](const IdleDetail& a, const IdleDetail& b) { return a.length_ns > b.length_ns; });
  return joined;
}

// What is open where only a step is. Its name would say nothing: a capture's agent gives it even to steps that the
// program marks by its optimizer.
std::string place_words(const IdleDetail& detail, std::size_t room) {
  if (detail.label == HostLabel::kUnlinked) return "before " + fold_kernel_name(detail.name, room - 7);
  return detail.name == "ProfilerStep#N" ? "in the step, outside operators" : detail.name;
}

}  // namespace

void add_idle(const Report& report, std::size_t row_count, Page& page) {
  const DeviceReport* device = report.main_device();
  if (!report.has_headline() || report.was_launch_blocking()) return;
  if (device == nullptr || device->idle_details.empty() || device->busy.idle_ns <= 0) return;
  constexpr std::size_t kTimeEdge = 10, kShareEdge = 18, kCauseColumn = 20, kNameColumn = 39;
  const std::int64_t divisor = report.step_divisor();
  const auto details = with_gaps_joined(device->idle_details);
  const std::size_t shown = std::min(row_count, details.size());
  if (shown == 0) return;
  page.blank();
  Line title = page.line();
  const char* per = !report.is_per_step() ? "in the window" : "per step";
  page.add(title.add(fmt::format("Why the GPU was idle, {}", per), Ink::kBold));
  const auto format = DurationFormat::pick(details.front().length_ns / divisor);
  Line head = page.line();
  head.add_right(kTimeEdge, format.unit, Ink::kDim).add_right(kShareEdge, "share", Ink::kDim);
  page.add(head.pad_to(kCauseColumn).add("cause", Ink::kDim).pad_to(kNameColumn).add("where", Ink::kDim));
  for (std::size_t i = 0; i < shown; ++i) {
    const IdleDetail& detail = details[i];
    Line line = page.line();
    line.add_right(kTimeEdge, format.number(detail.length_ns / divisor));
    line.add_right(kShareEdge,
                   show_percent(static_cast<double>(detail.length_ns) / static_cast<double>(device->busy.idle_ns)));
    line.pad_to(kCauseColumn).add(host_label_words(detail.label), Ink::kCyan).pad_to(kNameColumn);
    const std::size_t room = page.style().width - kNameColumn;
    page.add(line.add(shorten_middle(place_words(detail, room), room)));
  }
}

}  // namespace stepscope
