// Limits as people type them: 3%, 0.03, 2ms; 5%, 512MiB. Strict, as a gate that was misread passes for months: a plain
// number from 1 on could be percent, milliseconds or a factor, and is refused.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "fleet/gate.h"

namespace stepscope {

// Each is missing when the text is none. 0 is allowed: any difference that noise does not explain.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);          // 3%, 3 %, 0.03 (below 1)
[[nodiscard]] std::optional<GateLimit> parse_time_limit(std::string_view text);  // a share, or 2ms, 500us, 0.1s
[[nodiscard]] std::optional<GateLimit> parse_size_limit(std::string_view text);  // a share, or 512MiB, 2GB

// For CLI11: say what is allowed. The text is parsed again when it is used.
[[nodiscard]] CLI::Validator share();
[[nodiscard]] CLI::Validator time_limit();
[[nodiscard]] CLI::Validator size_limit();

}  // namespace stepscope
