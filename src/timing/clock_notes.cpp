// Asked once a measurement, when it is over: by then the timed code has started CUDA if it ever does.
#include "timing/clock_notes.h"

namespace stepscope {

std::vector<std::string> find_clock_notes(const Clock& clock,
                                          const std::function<std::unique_ptr<Clock>()>& default_clock) {
  std::vector<std::string> notes;
  std::unique_ptr<Clock> device;
  if (!clock.is_device() && default_clock) device = default_clock();
  const bool is_ignored = device != nullptr && device->is_device();
  if (!clock.is_device() && !is_ignored) return notes;
  if (const std::string spoiled = find_spoiled_timing(); !spoiled.empty()) notes.push_back(spoiled);
  if (is_ignored) {
    notes.push_back("The clock is the host's (" + clock.name() + ") while this process uses " + device->name() +
                    ": launches were timed, not the work that they start.");
  }
  return notes;
}

}  // namespace stepscope
