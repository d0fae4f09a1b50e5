// Windows and borders.
#include "import/chrome_json/block.h"

#include <algorithm>
#include <cstring>

namespace stepscope::chrome_json {
namespace {

// Without a border in this much text it is no list of events; the block ends anywhere.
constexpr std::size_t kLargestBlockBytes = 4 << 20;

bool is_border(const char* begin, const char* at, const char* end) {
  const char* before = at;
  while (before > begin && is_space(before[-1])) --before;
  if (before == begin || before[-1] != ',') return false;
  --before;
  while (before > begin && is_space(before[-1])) --before;
  bool met_end = false;
  return before > begin && before[-1] == '}' && starts_event_perhaps(at, end, met_end);
}

// The last place in the text where an event seems to start behind another one; nullptr if there is none.
const char* find_border(const char* begin, const char* end) {
  for (const char* at = end; at > begin;) {
    at = static_cast<const char*>(memrchr(begin, '{', static_cast<std::size_t>(at - begin)));
    if (at == nullptr) return nullptr;
    if (is_border(begin, at, end)) return at;
  }
  return nullptr;
}

}  // namespace

Result<bool> BlockSource::next(Block& block) {
  block.offset = next_offset_;
  block.size = rest_.size();
  if (ended_ && rest_.empty()) return false;
  std::size_t window = block_bytes_;
  const char* border = nullptr;
  for (;;) {
    block.bytes.resize(std::max(block.bytes.size(), block.size + window + kTextPadding));
    if (!rest_.empty()) std::memcpy(block.bytes.data(), rest_.data(), rest_.size());
    rest_.clear();
    if (!ended_) {
      Result<std::size_t> got = read_fully(source_, block.bytes.data() + block.size, window);
      if (!got) return got.error();
      block.size += *got;
      ended_ = *got < window;
    }
    std::memset(block.bytes.data() + block.size, 0, kTextPadding);
    block.text_end = ended_ ? TextEnd::kFile : TextEnd::kAnywhere;
    if (ended_) break;
    border = find_border(block.begin(), block.end());
    if (border != nullptr || block.size >= kLargestBlockBytes) break;
    window = block.size;
  }
  if (border != nullptr) {
    block.text_end = TextEnd::kBorder;
    rest_.assign(border, block.end());
    block.size = static_cast<std::size_t>(border - block.begin());
    std::memset(block.bytes.data() + block.size, 0, kTextPadding);
  }
  next_offset_ += block.size;
  return block.size > 0 || !ended_;
}

}  // namespace stepscope::chrome_json
