// The host's clock and sleep behind one place, so that tests of long measurements take no time.
//
// Only for measurements that decide by the host's clock when to end; what is measured itself comes from a Clock or from
// CUDA events.
#pragma once

#include <cstdint>

namespace stepscope {

struct HostTime {
  std::int64_t (*now_ns)() = nullptr;
  void (*sleep_ns)(std::int64_t ns) = nullptr;
};

[[nodiscard]] std::int64_t host_now_ns();
void host_sleep_ns(std::int64_t ns);

// Tests: time goes as these functions say; an empty HostTime: the real one again.
void install_host_time(HostTime time);

}  // namespace stepscope
