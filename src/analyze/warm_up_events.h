// Signs that the recorded steps were still warming up: code loaded, compiled or tuned, a context created.
#pragma once

#include <array>
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

struct WarmUpEvents {
  std::array<WarmUpSign, kWarmUpKindCount> by_kind;
  std::vector<bool> step_has_sign;  // one for each of Steps::steps
  [[nodiscard]] const WarmUpSign& of(WarmUpKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool any() const;
};

// Events on the host that start inside a recorded step.
[[nodiscard]] WarmUpEvents compute_warm_up_events(const Trace& trace, const Steps& steps);

}  // namespace stepscope
