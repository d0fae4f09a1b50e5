// What a device source heard of the GPU, as rows of a Trace: calls, kernels, copies, sets, and the arrows between them.
#pragma once

#include "capture/device_source.h"
#include "trace/builder.h"

namespace stepscope {

void add_device_rows(const DeviceRecording& recording, std::int64_t process_id, TimeNs base_ns, Builder& builder);

// Numbers operators, and lets the calls that were made inside them and what those launched carry the number, as
// PyTorch's `External id` does: other readers join them by it. For a trace that Builder::finish() has linked.
void number_operators(Trace& trace);

}  // namespace stepscope
