// The importer of our own capture files (docs/formats/capture.md), as the agent and `stepscope convert` write them.
//
// What the format omits and what we assume: Python stacks are known at points (launches, synchronizations, operators,
// samples), not as calls with a beginning and an end; frames are made from them as stack_frames.h says. GPU records
// name no process: a capture is of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/importers.h"

namespace stepscope::capture_format {

[[nodiscard]] bool recognises(std::string_view prefix);
[[nodiscard]] Result<std::vector<Trace>> read(ByteSource& source, const std::string& path, const ReadOptions& options);

}  // namespace stepscope::capture_format
