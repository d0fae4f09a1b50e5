// What this program cannot do by itself and the Python package can: files behind URLs, other engines than these cores.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"

namespace stepscope {

// Missing: the command is this program's own. Else the exit status, as nobody could take it over; where somebody can,
// this process becomes it and nothing returns.
[[nodiscard]] std::optional<int> hand_over_to_python(const std::string& command, const Arguments& arguments,
                                                     Console& console);

}  // namespace stepscope
