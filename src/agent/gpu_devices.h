// Names and sizes of the GPUs that the process sees, and the versions of its CUDA: asked of the driver in the process.
#pragma once

#include "capture/capture_file.h"

namespace stepscope::agent {

void write_devices(CaptureFile& file);
void add_cuda_versions(CaptureInfo& info);

}  // namespace stepscope::agent
