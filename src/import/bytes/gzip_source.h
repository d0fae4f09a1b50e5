// gzip as a stream: all members, cut and damaged streams as far as they can be read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "import/bytes/byte_source.h"

namespace stepscope {

inline constexpr std::size_t kGzipMagicBytes = 3;
[[nodiscard]] bool is_gzip(std::string_view prefix);

// The decompressed bytes of `stored`. A stream that is cut or damaged ends early, with a note; bytes after the
// last member that are no gzip are noted and left.
[[nodiscard]] std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> stored, std::string path);

}  // namespace stepscope
