// Strings kept once, named by a 32-bit id: a trace has millions of names and a few hundred distinct ones.
//
// Bytes live in large blocks that never move, so a string_view stays good as long as the pool. Id 0 is the
// empty string, so a default-made column cell reads as "" and a StringId always can be looked up.
// A std::unordered_map of std::string was rejected: two allocations and 80 bytes for each string.
#pragma once

#include <tsl/robin_map.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace stepscope {

// 0 is the empty string.
struct StringId {
  std::uint32_t value = 0;
  [[nodiscard]] constexpr bool empty() const { return value == 0; }
  constexpr auto operator<=>(const StringId&) const = default;
};

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  // The id of `text`, adding it when it is new.
  StringId intern(std::string_view text);
  // The id of `text` if it is already here, else the empty string's.
  [[nodiscard]] StringId find(std::string_view text) const;
  [[nodiscard]] std::string_view view(StringId id) const { return strings_[id.value]; }
  [[nodiscard]] std::string_view operator[](StringId id) const { return view(id); }
  [[nodiscard]] std::size_t size() const { return strings_.size(); }

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const noexcept;
  };
  std::string_view store(std::string_view text);

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_used_ = 0;
  std::size_t block_size_ = 0;
  std::vector<std::string_view> strings_;
  tsl::robin_map<std::string_view, std::uint32_t, Hash, std::equal_to<>,
                 std::allocator<std::pair<std::string_view, std::uint32_t>>, true>
      ids_;
};

}  // namespace stepscope

template <>
struct std::hash<stepscope::StringId> {
  std::size_t operator()(stepscope::StringId id) const noexcept { return id.value * 0x9E3779B97F4A7C15ULL; }
};
