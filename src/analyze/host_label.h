// The words for what a host thread does, and which names of a trace mean data loading, checkpointing, the optimizer.
//
// A trace has millions of events and a few hundred names, so each distinct string is judged once and the passes
// over events look up a byte. std::regex was rejected: a microsecond a match, and patterns nobody can read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// The words of idle_by_cause_ns, in this order. The last three are no host work.
enum class HostLabel : std::uint8_t {
  kDataLoader,
  kCheckpoint,
  kAllocator,        // allocation and free calls of the runtime
  kSynchronization,  // stream, event and device synchronization
  kBlockingCopy,     // a copy call that returned after its copy had ended
  kOptimizer,        // host work inside Optimizer.step
  kOperator,         // inside an operator, no call
  kPython,           // inside a Python frame or a span only
  kLaunch,           // inside launch calls
  kOtherApi,
  kProfiler,       // the profiler's own overhead rows
  kNoEvent,        // host, no event
  kLaunchLatency,  // edges view: between the launch call and the GPU's start
  kKernelGap,      // the GPU itself waited: dependency, stream wait, scheduling
  kUnlinked,       // the event that ends the gap has no known launch
};
inline constexpr std::size_t kHostLabelCount = 15;
[[nodiscard]] std::string_view host_label_name(HostLabel label);  // "data_loader", ...

// What a name means where it stands; one bit each.
enum NameTrait : std::uint8_t {
  kLoaderName = 1,           // PyTorch's own: enumerate(DataLoader)#....__next__, dataloader.py(N): __next__
  kUserLoaderName = 2,       // a user's span: data, dataloader, get_batch, ...
  kCheckpointSpanName = 4,   // a user's span: checkpoint, save_ckpt, torch.save, ...
  kCheckpointFrameName = 8,  // a Python frame that saves: torch/serialization.py, save_checkpoint, ...
  kOptimizerStepName = 16,   // Optimizer.step#...
  kAutogradName = 32,        // autograd::engine...
  kStepName = 64,            // ProfilerStep#...
};
[[nodiscard]] std::uint8_t classify_host_name(std::string_view name);

class HostNames {
 public:
  explicit HostNames(const Trace& trace);
  [[nodiscard]] bool has(StringId name, NameTrait trait) const { return (traits_[name.value] & trait) != 0; }
  // A span by a user's data-loading name counts only in traces without PyTorch's own: beside those it also holds
  // other work (the copy to the device, augmentation on the GPU).
  [[nodiscard]] bool span_loads_data(StringId name) const {
    return (traits_[name.value] & (has_loader_ ? kLoaderName : kLoaderName | kUserLoaderName)) != 0;
  }
  // ProfilerStep#N of every N goes by the first one's name, as it is one thing and not thousands.
  [[nodiscard]] StringId folded(StringId name) const { return has(name, kStepName) ? step_name_ : name; }

 private:
  static constexpr std::uint8_t kUnseen = 128;  // no host event bears this string (a kernel's name, shapes, ...)
  std::vector<std::uint8_t> traits_;            // by StringId::value
  bool has_loader_ = false;
  StringId step_name_;
};

}  // namespace stepscope
