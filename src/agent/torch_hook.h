// The hook on PyTorch's operators, as its tests and the agent's own parts see it beyond parts.h.
#pragma once

#include <cstdint>

#include "agent/torch_layout.h"
#include "base/time.h"
#include "capture/names.h"

namespace stepscope::agent {

// As attach_torch, with a library that the caller found (tests: a fake one).
bool attach_torch_library(const TorchLibrary& torch) noexcept;
// What was proven; an empty layout before attach_torch.
[[nodiscard]] const TorchLayout& torch_layout() noexcept;
// A span of the program that somebody else saw, on this thread and in full: written in place of PyTorch's own of that
// name, which is open around it.
void write_span_for_torch(NameId name, TimeNs start_ns, TimeNs end_ns, std::uint32_t stack) noexcept;
// Operators that were open 128 deep on a thread and were not recorded.
[[nodiscard]] std::uint64_t lost_op_count() noexcept;
// Forgets the library, for the next test.
void detach_torch() noexcept;

}  // namespace stepscope::agent
