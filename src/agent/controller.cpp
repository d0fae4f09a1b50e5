// When windows open and close: for now one window from the start to the end, unless the options ask to wait.
#include "agent/parts.h"

namespace stepscope::agent {

void start_controller() noexcept {
  if (!options().start_paused) open_window(-1);
}
void stop_controller() noexcept {}
void note_step_mark(std::string_view, TimeNs, TimeNs) noexcept {}
bool is_step_mark(std::string_view) noexcept { return false; }
void request_start(std::string_view) noexcept { open_window(-1); }
void request_stop(std::string_view) noexcept { close_window(-1); }

}  // namespace stepscope::agent
