// Time is a 64-bit count of nanoseconds, everywhere. No double ever lies between a file and this type.
#pragma once

#include <cstdint>

namespace stepscope {

using TimeNs = std::int64_t;
using DurationNs = std::int64_t;

}  // namespace stepscope
