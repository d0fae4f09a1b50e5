// Does what was asked of a trace fit it? The same words for the program and the Python package.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"
#include "trace/trace.h"

namespace stepscope {

// Says what is wrong (no span of that name, no such device), naming what there is; empty if nothing. An empty name asks
// for no span.
[[nodiscard]] std::string check_asked(const Trace& trace, const std::string& steps_name,
                                      std::optional<std::int64_t> device_number);

// What would change a summary: its steps and device were chosen, and MFU was reckoned, when it was made.
struct AskedOfSummary {
  std::string steps_name;  // empty: not asked
  bool asks_window = false;
  std::optional<std::int64_t> device_number;
  std::optional<double> peak_flops_per_s;
};
// Says what cannot be had; empty if nothing. What a summary is already is no change.
[[nodiscard]] std::string check_asked_of_summary(const std::string& name, const RunSummary& run,
                                                 const AskedOfSummary& asked);

// "0, 1, 5": numbers, at most 16.
[[nodiscard]] std::string list_numbers(std::vector<std::int64_t> numbers);

}  // namespace stepscope
