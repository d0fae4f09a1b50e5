// How numbers and names are written in findings: plain words, three figures, a unit with every number.
//
// One place, so that every finding says "49.1 ms" and "52 %" alike. The standard library's formatting is used and
// no fmt: the rules link no library, and std::format needs GCC 13.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace stepscope {

[[nodiscard]] std::string format_duration(DurationNs duration_ns);  // "49.1 ms", "1.41 us", "-3 ns"
[[nodiscard]] std::string format_percent(double ratio);             // "52 %", "4.6 %"; a ratio of 0 to 1
[[nodiscard]] std::string format_count(double count);               // "1,192", "2.5" for small fractions
[[nodiscard]] std::string format_bytes(double bytes);               // "154 MB": decimal, as bandwidths are
[[nodiscard]] std::string format_times(double factor);              // "2.1 times"
[[nodiscard]] std::string times_a_step(double count);               // "once a step", "12 times a step"
// "1 launch", "30 launches"; the plural is given since English has no rule.
[[nodiscard]] std::string count_of(std::int64_t count, std::string_view one, std::string_view many);

// A kernel's name as people say it: no return type, no template arguments, at most `length` bytes.
[[nodiscard]] std::string short_kernel_name(std::string_view name, std::size_t length = 48);
// Cut to `length` bytes with "..." at the end, never inside a UTF-8 character.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t length);

}  // namespace stepscope
