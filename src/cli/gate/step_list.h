// Step times that somebody measured and wrote down: numbers, one a line, or a JSON document (docs/gate.md).
//
//   43.5                                             needs --unit
//   43.7 ms
//   [43.5, 43.7]    [[43.5, 43.7], [43.6, 43.8]]     one run, several runs; needs --unit
//   {"unit": "ms", "steps": [...]}                   or "runs": [[...], ...]; "device_name", "allocated_peak_bytes",
//   {"steps_ns": [...]}                              "reserved_peak_bytes" may stand beside them
//   what `stepscope steps --json` and `stepscope bench --json` print
//
// A time that is none (0, negative, NaN, null) makes the file unusable and is located: whoever wrote it meant something
// else, and leaving it out would compare other steps than were meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/gate.h"

namespace stepscope {

// Could a file that begins with these bytes be such a list? A trace or a snapshot is not.
[[nodiscard]] bool looks_like_step_list(std::string_view prefix);

// `ns_per_unit` of numbers whose unit the file does not say; without it such a file is an Error that asks for --unit.
[[nodiscard]] Result<GateSide> read_step_list(std::string_view text, const std::string& file,
                                              std::optional<double> ns_per_unit);

}  // namespace stepscope
