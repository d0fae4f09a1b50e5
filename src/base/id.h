// Typed row numbers: every table has an id type of its own, so that a thread's number never indexes streams.
//
// 32 bits, because a trace of 4 billion rows of one table does not fit a machine and half-size links
// keep the columns small. The empty id is the largest value; it is tested by has_value().
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace stepscope {

template <class Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  [[nodiscard]] constexpr bool has_value() const { return value != std::numeric_limits<std::uint32_t>::max(); }
  constexpr auto operator<=>(const Id&) const = default;
};

// A 64-bit number that may be missing, in 8 bytes: the least int64 stands for "not in the file".
struct MaybeInt {
  std::int64_t raw = std::numeric_limits<std::int64_t>::min();

  constexpr MaybeInt() = default;
  constexpr MaybeInt(std::int64_t number) : raw(number) {}  // NOLINT: implicit by design
  [[nodiscard]] constexpr bool has_value() const { return raw != std::numeric_limits<std::int64_t>::min(); }
  [[nodiscard]] constexpr std::int64_t value() const { return raw; }
  [[nodiscard]] constexpr std::int64_t value_or(std::int64_t other) const { return has_value() ? raw : other; }
  constexpr auto operator<=>(const MaybeInt&) const = default;
};

// A vector that only its own id type can index.
template <class IdType, class T>
class Column {
 public:
  using value_type = T;

  [[nodiscard]] T& operator[](IdType id) { return rows_[id.value]; }
  [[nodiscard]] const T& operator[](IdType id) const { return rows_[id.value]; }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void push_back(T value) { rows_.push_back(std::move(value)); }
  // The plain vector, for loops over all rows and for bulk moves.
  [[nodiscard]] std::vector<T>& raw() { return rows_; }
  [[nodiscard]] const std::vector<T>& raw() const { return rows_; }

 private:
  std::vector<T> rows_;
};

// Half-open range of row numbers [begin, end) of one table.
template <class IdType>
struct IdRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  struct Iterator {
    std::uint32_t at = 0;
    IdType operator*() const { return IdType(at); }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  // Named so that a range-for over ids reads as it should; `begin`/`end` are the bounds themselves.
  [[nodiscard]] std::size_t size() const { return end - begin; }
  [[nodiscard]] bool empty() const { return begin == end; }
  struct View {
    std::uint32_t first, last;
    [[nodiscard]] Iterator begin() const { return {first}; }
    [[nodiscard]] Iterator end() const { return {last}; }
  };
  [[nodiscard]] View ids() const { return {begin, end}; }
};

}  // namespace stepscope

template <class Tag>
struct std::hash<stepscope::Id<Tag>> {
  std::size_t operator()(stepscope::Id<Tag> id) const noexcept { return id.value * 0x9E3779B97F4A7C15ULL; }
};
