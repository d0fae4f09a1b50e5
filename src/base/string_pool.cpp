// Storage and lookup of interned strings. XXH3 hashes 100 bytes in about 6 ns, so hashing whole shape lists
// for each operator is affordable.
#include "base/string_pool.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace stepscope {

std::size_t StringPool::Hash::operator()(std::string_view text) const noexcept {
  return XXH3_64bits(text.data(), text.size());
}

StringPool::StringPool() {
  strings_.emplace_back("");
  ids_.emplace(strings_[0], 0U);
}

std::string_view StringPool::store(std::string_view text) {
  constexpr std::size_t kBlockBytes = 64 << 10;
  if (blocks_.empty() || block_used_ + text.size() > block_size_) {
    block_size_ = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
    block_used_ = 0;
  }
  char* at = blocks_.back().get() + block_used_;
  std::memcpy(at, text.data(), text.size());
  block_used_ += text.size();
  return {at, text.size()};
}

StringId StringPool::intern(std::string_view text) {
  if (text.empty()) return {};
  const std::size_t hash = Hash{}(text);
  if (auto found = ids_.find(text, hash); found != ids_.end()) return {found->second};
  const std::string_view kept = store(text);
  const auto id = static_cast<std::uint32_t>(strings_.size());
  strings_.push_back(kept);
  ids_.emplace(kept, id);
  return {id};
}

StringId StringPool::find(std::string_view text) const {
  auto found = ids_.find(text);
  return found == ids_.end() ? StringId{} : StringId{found->second};
}

}  // namespace stepscope
