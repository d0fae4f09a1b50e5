// Matmul sizes that tensor cores cannot use well: dimensions that are no multiple of 8.
//
// Tensor cores read 16 bytes at once: 8 elements of bf16 or fp16 (NVIDIA, "Matrix Multiplication Background User's
// Guide"). An odd dimension makes the library pad, or take a kernel with narrow loads: a transformer of width 1020
// and vocabulary 16001 took 2.4 times as long as one of 1024 and 16000 (tests/data/planted/odd_sizes).
//
// Kernels tell how they load: CUTLASS ends their names in align1, align2 (elements at once), cuBLAS writes ldg8, and
// its nvjet kernels exist for aligned sizes only. So a slow kernel is proven by its name, with or without shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/kernel_class.h"
#include "analyze/steps.h"

namespace stepscope {

struct OddMatmul {
  StringId operator_name;     // "aten::mm"
  std::string sizes;          // "16384x1020 by 1020x16001"
  std::int64_t odd_size = 0;  // the first dimension found that is no multiple
  std::int64_t count = 0;     // kernels in the window
  DurationNs gpu_sum_ns = 0;
};

struct MatmulShapes {
  bool shapes_recorded = false;  // any matmul kernel whose operator has shapes
  DurationNs matmul_ns = 0;      // sum of matmul kernels in the window, with or without shapes
  DurationNs odd_ns = 0;         // of these, with an odd size
  DurationNs narrow_ns = 0;      // matmuls in 16 bits whose kernel loads fewer than 8 elements at once
  DurationNs doubtful_ns = 0;    // with an odd size, on tensor cores, by a kernel whose name does not tell
  std::vector<OddMatmul> odd;    // costliest first, at most 8
};

[[nodiscard]] MatmulShapes compute_matmul_shapes(const Trace& trace, const GpuTimeline& timeline,
                                                 const KernelClasses& classes, const Steps& steps, DeviceId device);

// 1, 2 or 4: how many elements of 16 bits a kernel of this name loads at once; 0 when it loads 8, or does not tell.
[[nodiscard]] int narrow_load_elements(std::string_view kernel_name);

// Does the name say that the kernel loads 16 bytes at once?
[[nodiscard]] bool has_wide_loads(std::string_view kernel_name);

// The last two dimensions of each matrix in `Input Dims` text; vectors and scalars are passed over.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> matrix_sizes(std::string_view input_dims);

}  // namespace stepscope
