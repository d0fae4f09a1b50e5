// The rest of the window moves to its front before more is read; rests are a few bytes.
#include "memory/byte_window.h"

#include <algorithm>
#include <cstring>

namespace stepscope::snapshot_reading {

namespace {
constexpr std::size_t kWindowBytes = 1 << 20;
constexpr std::size_t kPaddingBytes = 16;
}  // namespace

ByteWindow::ByteWindow(const ReadBytes& read)
    : read_(read), buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kWindowBytes + kPaddingBytes)) {
  begin_ = end_ = buffer_.get();
  std::memset(buffer_.get() + kWindowBytes, 0, kPaddingBytes);
}

void ByteWindow::refill(const std::uint8_t* from, std::size_t wanted) {
  const auto rest = static_cast<std::size_t>(end_ - from);
  base_offset_ += static_cast<std::uint64_t>(from - buffer_.get());
  if (rest > 0) std::memmove(buffer_.get(), from, rest);
  begin_ = buffer_.get();
  end_ = buffer_.get() + rest;
  while (!has_ended_ && static_cast<std::size_t>(end_ - begin_) < wanted) {
    const std::size_t room = kWindowBytes - static_cast<std::size_t>(end_ - begin_);
    auto got = read_(reinterpret_cast<char*>(end_), room);
    if (!got) error_ = got.error();
    has_ended_ = !got || *got == 0;
    if (!has_ended_) end_ += std::min(*got, room);
  }
}

}  // namespace stepscope::snapshot_reading
