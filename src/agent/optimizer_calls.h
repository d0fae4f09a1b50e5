// Steps of optimizers, told by the hooks that the import hook installs in torch.optim (python/stepscope_optimizers.py).
//
// PyTorch's own spans, `Optimizer.step#SGD.step`, say the same, but to hear them a callback has to be registered, which
// costs every node of the backward 1,790 instructions (twice a node the autograd engine makes its lists of callbacks
// anew), 2 % of a step in which nothing is recorded. torch.optim's hooks cost the program two calls into C a step, some
// 2 us, and they know the object, which tells optimizers of one class and line apart. So where they are, they are the
// one source: of the marks, and of the span in the file, since a window may close at the mark while PyTorch's span is
// still open. torch.compile sees them say at once that they are being compiled, and leaves nothing of them in the
// graph.
//
// A step() inside another (a class that calls its base class's, an optimizer that steps those it is made of) is
// written and marks nothing: the outermost one does. One that raises never ends: it is no step, its span in a window is
// PyTorch's, and the next call asks Python how many are really open around it (keep_optimizer_steps).
#pragma once

#include <cstdint>

namespace stepscope::agent {

// Whether somebody should tell: this process is or will be captured, and the user has not named other steps.
[[nodiscard]] bool wants_optimizer_steps() noexcept;
// An optimizer's step() begins on this thread, in a Python function of ours. How many began before it and have not
// ended, which may be more than are open around it. `object` as OptimizerSteps has it.
std::uint32_t begin_optimizer_step(const char* name, std::uint64_t object) noexcept;
// Of those that began before the last one, only the outer `count` are really open.
void keep_optimizer_steps(std::uint32_t count) noexcept;
void end_optimizer_step(std::uint64_t object) noexcept;

}  // namespace stepscope::agent
