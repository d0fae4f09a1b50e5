// Numbers of trace files, from their text.
//
// Times stand as microseconds with decimals and are read to whole nanoseconds digit by digit: through a double
// `1790857026123456.789` loses 21 ns. More than three decimals (JAX prints 15670.969999999999) are rounded to
// the nearest nanosecond.
#pragma once

#include <optional>
#include <string_view>

#include "base/id.h"
#include "base/time.h"

namespace stepscope::chrome_json {

// Microseconds as text to nanoseconds; nothing if it is no number or does not fit 64 bits.
[[nodiscard]] std::optional<TimeNs> nanoseconds_from(std::string_view microseconds);
// A whole number; fractions are cut. Missing if it is no number or does not fit 64 bits (up to 2^64 wraps
// to the negative number with the same bits, since ids and addresses may use all of them).
[[nodiscard]] MaybeInt integer_from(std::string_view text);
// The same for text inside a padded block: up to 8 bytes behind it are read.
[[nodiscard]] std::optional<TimeNs> nanoseconds_in_block(std::string_view microseconds);
[[nodiscard]] MaybeInt integer_in_block(std::string_view text);
// Any decimal number.
[[nodiscard]] std::optional<double> real_from(std::string_view text);

}  // namespace stepscope::chrome_json
