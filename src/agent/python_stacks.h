// The process's Python stacks: each different one once, under a number that counts up from 1.
//
// Found by a 64-bit hash over all frames in a table without a lock; the 80-byte events of a launch then carry 4 bytes.
// Only a stack that is new takes the mutex and copies what its code objects hold. Stacks are compared by hash alone:
// among 196,608 of them two share one with a probability of 1e-9.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/python_code.h"

namespace stepscope::agent {

// Code texts and stacks, each with this many at most; past them a stack is "none" and a remark says so once.
inline constexpr std::uint32_t kMostStacks = 196'608;
inline constexpr std::uint64_t kMostStackBytes = std::uint64_t{64} << 20;

[[nodiscard]] std::uint64_t hash_of(std::span<const RawFrame> frames);

// Number of this stack; 0: there is no room for another one, or its texts cannot be read. Frames innermost first.
template <class Reader>
[[nodiscard]] std::uint32_t stack_number(const PythonLayout& layout, std::span<const RawFrame> frames) noexcept;

struct StackFrame {
  const CodeText* code = nullptr;  // lives as long as the process
  std::uint32_t code_number = 0;   // from 0
  std::int32_t instruction = -1;
};
// Frames of stack `number`, innermost first.
[[nodiscard]] std::vector<StackFrame> frames_of(std::uint32_t number);
[[nodiscard]] std::uint32_t stack_count();

}  // namespace stepscope::agent
