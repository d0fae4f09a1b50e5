// Time in which the program waits for us, noted in the capture as such, so that nobody takes it for the program's.
#pragma once

#include <string_view>

#include "base/time.h"

namespace stepscope::agent {

// On the thread that waited; nothing while no window is open. `what` as after kOwnOverheadPrefix.
void note_own_overhead(std::string_view what, TimeNs start_ns, TimeNs end_ns) noexcept;

// From here to the end of the block.
class OwnOverhead {
 public:
  explicit OwnOverhead(std::string_view what) noexcept;
  ~OwnOverhead();
  OwnOverhead(const OwnOverhead&) = delete;
  OwnOverhead& operator=(const OwnOverhead&) = delete;

 private:
  std::string_view what_;
  TimeNs start_ns_;
};

}  // namespace stepscope::agent
