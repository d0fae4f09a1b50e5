// The columns of one memory snapshot for its page: every allocation with its life, the levels, the segments at the end.
// docs/formats/page.md describes the tables.
#pragma once

#include <string>

#include "memory/facts.h"

namespace stepscope {

// As build_page_data: base64 of deflated bytes, and the bytes before that.
[[nodiscard]] std::string build_memory_page_data(const MemorySnapshot& snapshot, const MemoryFacts& facts);
[[nodiscard]] std::string build_memory_page_bytes(const MemorySnapshot& snapshot, const MemoryFacts& facts);

}  // namespace stepscope
