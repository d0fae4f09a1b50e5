// steady_clock and sleep_for, unless a test says otherwise.
#include "timing/host_time.h"

#include <chrono>
#include <thread>

namespace stepscope {
namespace {
HostTime installed;
}  // namespace

std::int64_t host_now_ns() {
  if (installed.now_ns != nullptr) return installed.now_ns();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void host_sleep_ns(std::int64_t ns) {
  if (installed.sleep_ns != nullptr) return installed.sleep_ns(ns);
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

void install_host_time(HostTime time) { installed = time; }

}  // namespace stepscope
