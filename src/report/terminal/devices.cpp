// One row a device, when there are several; the first screen is about the main one.
#include <fmt/format.h>

#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"

namespace stepscope {

void add_devices(const Report& report, Page& page) {
  if (report.devices.size() < 2) return;
  page.blank();
  page.add(page.line().add("Devices", Ink::kBold).add(", --device N chooses the one above", Ink::kDim));
  const std::int64_t divisor = report.step_divisor();
  for (const DeviceReport& device : report.devices) {
    const DeviceBusy& busy = device.busy;
    const auto format = DurationFormat::pick(busy.window_ns / divisor);
    std::string text = fmt::format("{} {}: ", device.number, device.name.empty() ? "device" : device.name);
    if (report.has_headline() && busy.window_ns > 0) {
      text += fmt::format("busy {} ({} of {}), exposed communication {}, copies {}",
                          show_percent(static_cast<double>(busy.gpu_busy_ns) / static_cast<double>(busy.window_ns)),
                          format.number(busy.gpu_busy_ns / divisor), format.text(busy.window_ns / divisor),
                          format.number(busy.exposed_communication_ns / divisor),
                          format.number(busy.exposed_copy_ns / divisor));
    } else {
      text += fmt::format("{} of GPU events, summed", show_duration(busy.gpu_sum_ns));
    }
    page.paragraph(text, kLabelColumn, device.is_main ? Ink::kBold : Ink::kPlain, 2);
  }
}

}  // namespace stepscope
