// What PyTorch's allocators give out and take back, heard as PyTorch's own profiler hears it.
//
// Each allocator reports to c10::reportMemoryUsageToProfiler (GPUs always, the CPU while c10::memoryProfilingEnabled
// says so). The two are reached through slots of the libraries that call them (imported_function.h), so a window hears
// every thread, and torch's own profiler beside us still hears all it heard. As with PyTorch, the CPU's memory that was
// allocated before the first window is not heard when it is freed: the allocator does not know its size.
//
// Rejected: pushing an object of our own where PyTorch looks for its profiler's state (ThreadLocalDebugInfo): PyTorch
// casts what it finds there to its own class, whose layout differs by version, and one thread hears nothing of others.
#pragma once

namespace stepscope::agent {

// Puts our functions where PyTorch's are called, milliseconds the first time; nothing is heard by that. Libraries that
// came since the last call are taken in. False: no PyTorch, or one that reports in another way (a complaint says so).
bool prepare_torch_memory() noexcept;
// From now on allocations are written while a window is open (hook_events_on). Prepares first.
void hear_torch_memory() noexcept;
// No more are written, and the CPU's allocator keeps no sizes for us.
void leave_torch_memory() noexcept;

}  // namespace stepscope::agent
