// GPU memory: the peaks, and whether some step needed more than the others.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recording_words.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

std::string step_of(const Report& report, TimeNs time_ns) {
  const auto at = report.steps.find_by_host_time(time_ns);
  if (!at) return "";
  return fmt::format(" in step {}", report.steps.steps[*at].number);
}

std::string limit_words(const Report& report, std::int64_t device) {
  const DeviceReport* main = report.main_device();
  if (main == nullptr || main->number != device || !report.device_memory_bytes) return "";
  return fmt::format(" of {} on the device", show_bytes(*report.device_memory_bytes));
}

std::string device_words(const Report& report, const DeviceMemoryLevels& memory) {
  std::string text;
  if (report.memory.devices.size() > 1) text += fmt::format("device {}: ", memory.device_number);
  if (memory.allocated_peak) {
    text += fmt::format("allocated at most {}{}", show_bytes(memory.allocated_peak->bytes),
                        step_of(report, memory.allocated_peak->time_ns));
  }
  if (memory.reserved_peak) {
    text += fmt::format("{}reserved at most {}", memory.allocated_peak ? ", " : "",
                        show_bytes(memory.reserved_peak->bytes));
  }
  return text + limit_words(report, memory.device_number);
}

// What the allocator does not know of, where NVML was asked while it was recorded.
std::string process_words(const Report& report, const DeviceMemoryLevels& memory) {
  std::string text;
  if (report.memory.devices.size() > 1) text += fmt::format("device {}: ", memory.device_number);
  if (!memory.process_last_bytes) {
    if (!memory.in_use_last_bytes) return "";
    return text + fmt::format("in use by all processes at the end: {}", show_bytes(*memory.in_use_last_bytes));
  }
  text += fmt::format("process {}", show_bytes(*memory.process_last_bytes));
  const auto& held = memory.reserved_last_bytes ? memory.reserved_last_bytes : memory.allocated_last_bytes;
  if (!held) return text + " at the end";
  text += fmt::format(", allocator {}", show_bytes(*held));
  const bool is_sound = *held >= 0 && *memory.process_last_bytes >= *held;
  const std::int64_t rest = is_sound ? *memory.process_last_bytes - *held : 0;
  if (is_sound) text += fmt::format(", rest {} (context, NCCL, workspaces)", show_bytes(rest));
  return text + " at the end";
}

}  // namespace

void add_memory(const Report& report, Page& page) {
  page.blank();
  page.add(page.line().add("Memory", Ink::kBold));
  if (report.info.producer == "capture" && report.info.profile_memory && report.memory.devices.empty()) {
    page.paragraph("Asked for with --memory, but no memory of a GPU was used in what was recorded.", kLabelColumn);
    return;
  }
  if (!report.memory.recorded || report.memory.devices.empty()) {
    page.paragraph(
        fit_recording_words(report.tool, "Not recorded. Record with profile_memory=True to see peaks by step."),
        kLabelColumn);
    return;
  }
  for (const DeviceMemoryLevels& device : report.memory.devices) {
    const bool has_levels = device.allocated_peak || device.reserved_peak;
    if (has_levels) page.paragraph(device_words(report, device), kLabelColumn, Ink::kPlain, 2);
    const std::string process = process_words(report, device);
    if (!process.empty()) page.paragraph(process, kLabelColumn, Ink::kPlain, 2);
  }
}

}  // namespace stepscope
