// The calling thread's Python stack, as tests see it beyond parts.h.
#pragma once

#include "agent/python_layout.h"

namespace stepscope::agent {

// 0 until a layout was proven, and without Python. The 3 of 3.minor after.
[[nodiscard]] const PythonLayout& python_layout() noexcept;
// The interpreter ends: no stack is taken from here on. Called at its `atexit`, while all threads' states still live.
void leave_python() noexcept;

}  // namespace stepscope::agent
