// Signs that the recorded steps were still warming up: code loaded, compiled or tuned, a context created.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

enum class WarmUpKind : std::uint8_t {
  kModuleLoad,  // cuModuleLoad, cuLibraryLoad, linking of device code
  kCompile,     // torch.compile (dynamo, inductor), Triton, NVRTC at work
  kAutotune,    // candidates of a kernel are timed against each other
  kContext,     // a device context or handle is created
};
inline constexpr std::size_t kWarmUpKindCount = 4;

struct WarmUpSign {
  std::int64_t count = 0;
  DurationNs longest_ns = 0;
  Interval example;  // the longest one
  StringId name;     // its name
};

using WarmUpSigns = std::array<WarmUpSign, kWarmUpKindCount>;

struct WarmUpEvents {
  std::vector<WarmUpSigns> by_step;  // one for each of Steps::steps
  // Those that compile after so many steps without a sign that the warm-up was over: what they compile had been
  // compiled before, for other shapes.
  std::vector<bool> step_recompiles;
  // Of all steps, or of those that recompile or not.
  [[nodiscard]] WarmUpSign of(WarmUpKind kind, std::optional<bool> recompiling = {}) const;
  [[nodiscard]] bool has_sign(std::size_t step) const;
  // Steps with a sign that recompile, or do not.
  [[nodiscard]] std::int64_t step_count(bool recompiling) const;
};

// Events on the host that start inside a recorded step.
[[nodiscard]] WarmUpEvents compute_warm_up_events(const Trace& trace, const Steps& steps);

}  // namespace stepscope
