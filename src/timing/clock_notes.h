// What about a clock and its surroundings spoils the times that it gives: sentences for measurements and step times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/clock.h"

namespace stepscope {

// `default_clock` tells whether a device is in use that `clock` does not wait for. Empty: nothing is wrong.
[[nodiscard]] std::vector<std::string> find_clock_notes(const Clock& clock,
                                                        const std::function<std::unique_ptr<Clock>()>& default_clock);

}  // namespace stepscope
