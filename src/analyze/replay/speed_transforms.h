// What-ifs that make GPU work faster: matrix products on tensor cores, copies from pinned memory.
#pragma once

#include "analyze/replay/transforms.h"

namespace stepscope {

// SIMT matrix products and convolutions at tensor-core speed.
void use_tensor_cores(const TransformInput& from, Edits& edits);
// Matmuls whose kernels load fewer than 16 bytes at once, at the speed of those that do.
void align_matmuls(const TransformInput& from, Edits& edits);
// Pageable host-to-device copies at the speed of pinned memory, and not waited for.
void copy_from_pinned_memory(const TransformInput& from, Edits& edits);

}  // namespace stepscope
