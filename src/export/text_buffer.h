// Text on its way to a sink, gathered into pieces of a megabyte.
//
// A row of a trace is twenty small pieces of text: a sink called for each (or a stream with its locale and state) costs
// more than the text. Here a piece is a comparison and a copy, and numbers are written digit pair by digit pair. A sink
// that fails ends the writing: what comes after is dropped, and the caller asks failed() now and then.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "export/text_sink.h"

namespace stepscope {

class TextBuffer {
 public:
  explicit TextBuffer(const TextSink& sink) : sink_(sink), text_(std::make_unique_for_overwrite<char[]>(kPieceBytes)) {}
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  void put(std::string_view text) {
    if (text.size() > kPieceBytes - size_) return put_long(text);
    if (text.empty()) return;  // it may point nowhere, which memcpy must not be given
    std::memcpy(text_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }
  // A literal, whose length the compiler knows.
  template <std::size_t kSize>
  void put(const char (&text)[kSize]) {
    std::memcpy(room(kSize - 1), text, kSize - 1);
    size_ += kSize - 1;
  }
  void put(char c) {
    *room(1) = c;
    ++size_;
  }
  void put_integer(std::int64_t number);
  // Nanoseconds as microseconds with three decimals, "-0.001": no double is wide enough for times since 1970.
  void put_microseconds(TimeNs ns);

  [[nodiscard]] bool failed() const { return !status_.has_value(); }
  // Hands the rest over. The first error of the sink, or done.
  [[nodiscard]] Status finish();

 private:
  // A megabyte: few enough calls for a file or a compressor, and it stays in a core's L2 cache.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  // At least `size` free bytes, `size` being small.
  char* room(std::size_t size) {
    if (size > kPieceBytes - size_) flush();
    return text_.get() + size_;
  }
  void put_unsigned(std::uint64_t number);
  void put_long(std::string_view text);
  void flush();

  const TextSink& sink_;
  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  Status status_ = Done{};
};

}  // namespace stepscope
