// Achieved FLOP/s and MFU of the window, with the peak used, or the reason why there is none.
#pragma once

#include <optional>
#include <string>

#include "analyze/busy.h"
#include "analyze/flops.h"

namespace stepscope {

struct Efficiency {
  std::optional<double> flops_per_step;        // operators of the median step, full attention
  std::optional<double> achieved_flops_per_s;  // over the window's wall time
  std::optional<double> mfu_ratio;             // achieved / peak
  std::optional<double> mfu_causal_halved_ratio;
  std::optional<double> hfu_ratio;  // recomputation counted
  std::optional<double> peak_flops_per_s;
  std::string peak_dtype;  // "bf16"
  std::string peak_source;
  std::string device_name;
  std::string not_available;  // the reason when mfu_ratio is missing, with what to do about it
};

// peak_override: FLOP/s given by the user, used for any device.
[[nodiscard]] Efficiency compute_efficiency(const Trace& trace, const Steps& steps, const Flops& flops,
                                            std::optional<double> peak_override);

}  // namespace stepscope
