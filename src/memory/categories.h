// What each allocation is for: as recorded, else inferred from where and when it was made and let go.
//
// An exact answer needs tensors, which a snapshot does not have. What it has are stacks, spans and lifetimes, and a
// training step is regular: what the optimizer makes and keeps is its state, what backward makes and leaves behind is a
// gradient, what forward makes and backward frees is an activation. How often this is right: docs/memory.md.
#pragma once

#include "memory/facts.h"

namespace stepscope {

// Fills category and category_source of the device's rows; spans must have been assigned.
void infer_categories(const MemorySnapshot& snapshot, SnapshotDeviceId device, IdRange<AllocationId> rows,
                      Allocations& allocations);

}  // namespace stepscope
