// The native stack of a thread without Python: who called cudaMalloc in a program of C++.
//
// Taken at calls that allocate or free, with --memory: they take microseconds to milliseconds themselves, so a walk of
// two microseconds is nothing beside them. Launches are not asked: there it would cost more than all else that is
// noted. A frame is a return address, kept as its module (path and build id) and the address inside the module. Its
// name is found by whoever reads the capture (src/import/capture/): the program under measurement reads no debug
// information.
//
// The walk is libgcc's (_Unwind_Backtrace), by the unwind tables that exceptions need: frame pointers are omitted in
// most programs, and in CUDA's libraries. It takes no memory and calls nobody. Rejected: glibc's backtrace(), which is
// the same behind a dlopen at its first use, and so a malloc in a place of the program's choosing.
#pragma once

#include <cstdint>

#include "capture/capture_file.h"

namespace stepscope::agent {

// Set in the number of every native stack, in none of a Python stack.
inline constexpr std::uint32_t kNativeStackBit = 0x8000'0000;
inline constexpr std::size_t kMostNativeFrames = 32;

// Number of the calling thread's stack in the process-wide table; 0: there is none, or no room for a new one. Frames of
// CUDA, CUPTI and the agent at its inner end are left out.
[[nodiscard]] std::uint32_t native_stack_now() noexcept;
// Worker: writes the definitions that `stack` needs into `file` and gives its number there.
[[nodiscard]] WireStack write_native_stack(CaptureFile& file, std::uint32_t stack);

}  // namespace stepscope::agent
