// What to do about code that is compiled again in mid-run: outlier-step and warm-up-in-window say the same.
#pragma once

#include <string_view>

namespace stepscope {

inline constexpr std::string_view kRecompileAdvice =
    "TORCH_LOGS=recompiles names what changed; where it is a shape: torch._dynamo.mark_dynamic(x, dim), or inputs "
    "padded to few sizes";

}  // namespace stepscope
