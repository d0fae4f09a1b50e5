// What a runtime or driver call does, from its name: CUDA runtime and driver, HIP, XPU (Level Zero, SYCL), MUSA
// and other runtimes that copy CUDA's names with a prefix of their own.
#pragma once

#include <string_view>

#include "trace/ops.h"

namespace stepscope {

[[nodiscard]] ApiKind classify_api(std::string_view name);

}  // namespace stepscope
