// What a GPU event does, from its name (and the span that launched it): matmul, attention, ..., copy, set.
//
// Names are classified once for each distinct name. Sources: the libraries' own kernel naming (cuBLAS, CUTLASS,
// cuDNN, FlashAttention, ATen, NCCL, rocBLAS/Tensile, RCCL, Triton). `optimizer` wins for events launched inside
// an Optimizer.step span.
#pragma once

#include <array>
#include <string_view>

#include "trace/trace.h"

namespace stepscope {

enum class KernelClass : std::uint8_t {
  kMatmul,
  kAttention,
  kConvolution,
  kNormalisation,
  kElementwise,
  kReduction,
  kEmbedding,
  kOptimizer,
  kCommunication,
  kCopy,
  kSet,
  kOther,
};
inline constexpr std::size_t kKernelClassCount = 12;
[[nodiscard]] std::string_view kernel_class_name(KernelClass kernel_class);  // "matmul", ...

enum class TensorCores : std::uint8_t {
  kUsed,
  kNotUsed,
  kUnknown
};  // kUnknown also for kernels that have no use for them

struct KernelClasses {
  Column<GpuEventId, KernelClass> of;     // by event
  std::vector<TensorCores> tensor_cores;  // by StringId::value of the kernel's name
  [[nodiscard]] TensorCores tensor_cores_of(const Trace& trace, GpuEventId id) const {
    return tensor_cores[trace.gpu_events.name[id].value];
  }
};

[[nodiscard]] KernelClass classify_kernel_name(std::string_view name, GpuEventKind kind);
[[nodiscard]] TensorCores classify_tensor_cores(std::string_view name);
[[nodiscard]] KernelClasses compute_kernel_classes(const Trace& trace);

}  // namespace stepscope
