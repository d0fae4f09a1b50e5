// Which way a copy goes and whether its host memory is pageable, from the event's name.
//
// CUPTI as Kineto writes it: `Memcpy HtoD (Pageable -> Device)`; ROCm: `CopyHostToDevice`. A copy inside a device is no
// CopyPath: it is work like any kernel.
#pragma once

#include "trace/trace.h"

namespace stepscope {

enum class CopyPath : std::uint8_t { kNone, kHostToDevice, kPageableToDevice, kDeviceToHost, kBetweenDevices };

[[nodiscard]] CopyPath classify_copy_name(std::string_view name);
[[nodiscard]] CopyPath classify_copy(const Trace& trace, GpuEventId event);

}  // namespace stepscope
