// Numbers as people read them: a unit always, digits that mean something, thousands parted.
//
// A duration shows three significant digits, or as many as its spread needs: 99.0 ms (98.5 to 100.7), but
// 22.66 ms (22.63 to 22.67).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace stepscope {

// A unit and a number of decimals, chosen once for a line so that its values compare.
struct DurationFormat {
  double ns_per_unit = 1e6;
  const char* unit = "ms";
  int decimals = 1;

  // For values like `typical`, whose spread is `spread_ns` (0: unknown).
  [[nodiscard]] static DurationFormat pick(DurationNs typical_ns, DurationNs spread_ns = 0);
  [[nodiscard]] std::string number(DurationNs ns) const;  // "99.0"
  [[nodiscard]] std::string text(DurationNs ns) const;    // "99.0 ms"
};

[[nodiscard]] std::string show_duration(DurationNs ns);    // "99.0 ms"
[[nodiscard]] std::string show_percent(double ratio);      // "43 %", "4.3 %", "0.2 %", "<0.1 %"
[[nodiscard]] std::string show_count(std::int64_t count);  // "2,979"
[[nodiscard]] std::string show_bytes(std::int64_t bytes);  // "12,129 MiB", "1.5 GiB"
[[nodiscard]] std::string show_flops(double flops_per_s);  // "989 TFLOP/s"
// "84 PFLOP", "24.58 M": four digits, and a prefix from K to E.
[[nodiscard]] std::string show_quantity(double value, std::string_view unit);
[[nodiscard]] std::string show_decimal(double value, int decimals);
// "1 kernel", "3 kernels"
[[nodiscard]] std::string show_counted(std::int64_t count, const char* singular, const char* plural = nullptr);

}  // namespace stepscope
