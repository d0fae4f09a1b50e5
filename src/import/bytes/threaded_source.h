// Reads another source in a thread of its own, a few windows ahead: decompression beside parsing.
#pragma once

#include <memory>

#include "import/bytes/byte_source.h"

namespace stepscope {

[[nodiscard]] std::unique_ptr<ByteSource> read_beside(std::unique_ptr<ByteSource> inner);

}  // namespace stepscope
