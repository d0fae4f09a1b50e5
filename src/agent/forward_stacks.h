// Python stacks of forward operators, kept until their backward runs.
//
// A CUDA graph of a training step is captured with its backward, which runs on a thread of PyTorch's without Python:
// its nodes would have a name and no line. What PyTorch tells there is whose backward it is: the thread of the forward
// operator and autograd's sequence number. So, where graphs are recorded, each forward operator leaves its stack under
// its number. Several operators share one number until one of them makes a node of autograd's graph; the last of them
// is the one that did, so that the last to write is right.
//
// A table a thread, written by that thread alone and read by any: two words of work an operator, no lock. Rejected: one
// table for all (numbers are counted thread by thread), and asking only once a node is captured (operators that launch
// nothing themselves, as a slice, have backward kernels).
#pragma once

#include <cstdint>

namespace stepscope::agent {

// `thread_number`: PyTorch's own of the calling thread, > 0. Remembers the last 65,536 numbers.
void note_forward_stack(std::uint64_t thread_number, std::int64_t sequence, std::uint32_t stack) noexcept;
// 0: not known, or overwritten since.
[[nodiscard]] std::uint32_t forward_stack(std::uint64_t thread_number, std::int64_t sequence) noexcept;

}  // namespace stepscope::agent
