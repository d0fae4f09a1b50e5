// Folded stacks: one line a Python stack with its time, as flame graph tools read them.
//
// PyTorch's export_stacks writes one line an event and, since 2.11, none at all, because its events no longer carry
// stacks. Here the stacks are the Python frames of the trace (or the `Call stack` of old files), and equal stacks are
// one line. self_cpu_time_total: time in a frame and not in a frame below it, operators and calls included. On
// self_device_time_total: GPU time of the operators launched under it. Work of the backward pass belongs to the stack
// of its forward operator, on both metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

struct FoldedStack {
  std::string stack;          // root first, joined by `;`; space, `;`, tab and newline inside a frame became `_`
  std::int64_t value_us = 0;  // whole microseconds, > 0
  // "root;frame;frame 123"
  [[nodiscard]] std::string line() const { return stack + ' ' + std::to_string(value_us); }
};

// In order of first appearance; what the limit on text left out is a last line, `(stacks_left_out)`. Metrics:
// self_cpu_time_total, self_device_time_total, and the old self_cuda_time_total and self_xpu_time_total; `_total` may
// be left off. Missing for any other name.
[[nodiscard]] std::optional<std::vector<FoldedStack>> compute_folded_stacks(const Trace& trace,
                                                                            std::string_view metric);

}  // namespace stepscope
