// The text of a file in blocks of about a megabyte that end between two events.
//
// The border is looked for backwards from the end of each window, by its look alone (`}, {"ph":`), so no thread has
// to go through all of the text first. A border that is none (a string that looks like events, events of
// another document) is harmless: reading the block then does not end between events, and the text is
// read again in order (block_reader.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {

// A megabyte stays in a core's L2 cache between reading and parsing, and is 3,000 events, so that what is done
// once a block (strings, tables) does not count.
inline constexpr std::size_t kBlockBytes = 1 << 20;

struct Block {
  std::vector<char> bytes;  // the text and its padding
  std::size_t size = 0;
  std::uint64_t offset = 0;  // of its first byte in the text of the file
  TextEnd text_end = TextEnd::kAnywhere;

  [[nodiscard]] const char* begin() const { return bytes.data(); }
  [[nodiscard]] const char* end() const { return bytes.data() + size; }
};

class BlockSource {
 public:
  BlockSource(ByteSource& source, std::size_t block_bytes) : source_(source), block_bytes_(block_bytes) {}
  // The next block, in `block`, whose memory is used again; false at the end.
  Result<bool> next(Block& block);
  [[nodiscard]] std::uint64_t text_bytes() const { return next_offset_; }

 private:
  ByteSource& source_;
  std::size_t block_bytes_;
  std::vector<char> rest_;  // behind the border of the last block
  std::uint64_t next_offset_ = 0;
  bool ended_ = false;
};

}  // namespace stepscope::chrome_json
