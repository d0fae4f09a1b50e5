// A window of 1 MiB that moves over the input, so that no file is ever in memory as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "memory/snapshot_reader.h"

namespace stepscope::snapshot_reading {

class ByteWindow {
 public:
  explicit ByteWindow(const ReadBytes& read);

  [[nodiscard]] const std::uint8_t* begin() const { return begin_; }
  // 16 bytes behind it may be read, and mean nothing.
  [[nodiscard]] const std::uint8_t* end() const { return end_; }
  // Drops what is before `from` and reads until `wanted` bytes (a window at most) are there or the input ends. All
  // pointers into the window are dead afterwards; begin() is what `from` was.
  void refill(const std::uint8_t* from, std::size_t wanted);
  [[nodiscard]] std::uint64_t offset_of(const std::uint8_t* at) const {
    return base_offset_ + static_cast<std::uint64_t>(at - buffer_.get());
  }
  [[nodiscard]] std::uint64_t byte_count() const { return offset_of(end_); }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // What reading failed with; the input ends there.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(begin_), static_cast<std::size_t>(end_ - begin_)};
  }

 private:
  const ReadBytes& read_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  const std::uint8_t* begin_ = nullptr;
  std::uint8_t* end_ = nullptr;
  std::uint64_t base_offset_ = 0;  // of buffer_[0] in the input
  bool has_ended_ = false;
  std::optional<Error> error_;
};

}  // namespace stepscope::snapshot_reading
