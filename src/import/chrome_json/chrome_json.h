// The importer of Chrome's trace JSON as PyTorch (libkineto), ROCm, Ascend, XPU and JAX write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/importers.h"

namespace stepscope::chrome_json {

// The text looks like a JSON object or list.
[[nodiscard]] bool recognises(std::string_view prefix);
[[nodiscard]] Result<std::vector<Trace>> read(ByteSource& source, const std::string& path, const ReadOptions& options);

// The same with blocks of another size. The result does not depend on it, nor on the number of threads: tests and
// the fuzzer put borders everywhere.
[[nodiscard]] Result<std::vector<Trace>> read_in_blocks(ByteSource& source, const std::string& path,
                                                        const ReadOptions& options, std::size_t block_bytes);

}  // namespace stepscope::chrome_json
