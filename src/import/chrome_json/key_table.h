// A fixed set of short words and what each means: one hash, one comparison.
//
// Every event has some fifteen keys and a category, so finding them is a tenth of all work. The hash is of the length
// and three bytes; its factor is searched by the compiler so that no two words share a slot. A switch over lengths with
// memcmp took twice the time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace stepscope::chrome_json {

inline constexpr std::size_t kLongestWordInTable = 32;

namespace detail {

template <class Word>
inline Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// memcmp for 1 to 32 bytes, by loads that overlap; never reads outside.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) {
  if (size >= 8) {
    if (load<std::uint64_t>(a) != load<std::uint64_t>(b)) return false;
    if (load<std::uint64_t>(a + size - 8) != load<std::uint64_t>(b + size - 8)) return false;
    if (size <= 16) return true;
    if (load<std::uint64_t>(a + 8) != load<std::uint64_t>(b + 8)) return false;
    return size <= 24 || load<std::uint64_t>(a + 16) == load<std::uint64_t>(b + 16);
  }
  if (size >= 4) {
    return load<std::uint32_t>(a) == load<std::uint32_t>(b) &&
           load<std::uint32_t>(a + size - 4) == load<std::uint32_t>(b + size - 4);
  }
  return a[0] == b[0] && a[size - 1] == b[size - 1] && a[size / 2] == b[size / 2];
}

constexpr std::size_t slot_of(std::string_view word, std::uint32_t factor, std::size_t slots) {
  const std::uint32_t sum =
      static_cast<std::uint32_t>(word.size()) << 24 |
      static_cast<std::uint32_t>(static_cast<unsigned char>(word[0])) << 16 |
      static_cast<std::uint32_t>(static_cast<unsigned char>(word[word.size() / 2 + (word.size() > 2)])) << 8 |
      static_cast<std::uint32_t>(static_cast<unsigned char>(word[word.size() - 1]));
  return (sum * factor) >> 16 & (slots - 1);
}

}  // namespace detail

template <class Value, std::size_t kSlots>
class KeyTable {
 public:
  template <std::size_t kCount>
  constexpr KeyTable(const std::array<std::pair<std::string_view, Value>, kCount>& words, Value none) : none_(none) {
    while (!try_factor(words)) factor_ += 2;
  }

  [[nodiscard]] Value find(std::string_view word) const {
    if (word.empty() || word.size() > kLongestWordInTable) return none_;
    const Slot& slot = slots_[detail::slot_of(word, factor_, kSlots)];
    return slot.word.size() == word.size() && detail::equal_bytes(slot.word.data(), word.data(), word.size())
               ? slot.value
               : none_;
  }

 private:
  struct Slot {
    std::string_view word;
    Value value{};
  };

  template <std::size_t kCount>
  constexpr bool try_factor(const std::array<std::pair<std::string_view, Value>, kCount>& words) {
    slots_ = {};
    for (const auto& [word, value] : words) {
      Slot& slot = slots_[detail::slot_of(word, factor_, kSlots)];
      if (!slot.word.empty()) return false;
      slot = {word, value};
    }
    return true;
  }

  std::array<Slot, kSlots> slots_{};
  std::uint32_t factor_ = 0x9E3779B1;
  Value none_;
};

}  // namespace stepscope::chrome_json
