// Tables of numbers and texts as compact bytes, which a page decodes with a few lines of script.
//
// A million events in JSON are 100 MB, and browsers parse them in seconds into objects of 100 bytes. Here a column is
// one run of variable-length integers (LEB128: seven bits a byte, low ones first), times as differences from the row
// before; deflate finds what repeats, and DecompressionStream, which every browser has, undoes it. Measured on a
// recording of 2.4 million events: see docs/performance.md. Arrow and protobuf were rejected: their readers are larger
// than our page. docs/formats/page.md describes the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Appends seven bits a byte, low ones first.
void append_varint(std::uint64_t number, std::string& into);
// Small numbers of either sign become small ones: 0, -1, 1, -2, ...
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}

class PageTable {
 public:
  struct PageColumn {
    std::string name;
    std::string_view encoding;  // "uint", "delta" or "text"
    std::string bytes;
  };

  PageTable(std::string_view name, std::size_t row_count) : name_(name), row_count_(row_count) {}

  // value(row) for each of the rows: an unsigned number.
  template <class Value>
  void add_uint(std::string_view column, Value&& value) {
    std::string bytes;
    for (std::size_t i = 0; i < row_count_; ++i) append_varint(static_cast<std::uint64_t>(value(i)), bytes);
    columns_.push_back({std::string(column), "uint", std::move(bytes)});
  }
  // A signed number, written as the difference from the row before (the first from 0).
  template <class Value>
  void add_delta(std::string_view column, Value&& value) {
    std::string bytes;
    std::uint64_t before = 0;  // unsigned, so that the difference of damaged times wraps instead of overflowing
    for (std::size_t i = 0; i < row_count_; ++i) {
      const auto now = static_cast<std::uint64_t>(static_cast<std::int64_t>(value(i)));
      append_varint(zigzag(static_cast<std::int64_t>(now - before)), bytes);
      before = now;
    }
    columns_.push_back({std::string(column), "delta", std::move(bytes)});
  }
  // Valid UTF-8 (see PageStrings): the lengths of all in bytes, then the texts.
  template <class Value>
  void add_text(std::string_view column, Value&& value) {
    std::string lengths, texts;
    for (std::size_t i = 0; i < row_count_; ++i) {
      const std::string_view text = value(i);
      append_varint(text.size(), lengths);
      texts += text;
    }
    columns_.push_back({std::string(column), "text", lengths + texts});
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t row_count() const { return row_count_; }
  [[nodiscard]] const std::vector<PageColumn>& columns() const { return columns_; }

 private:
  std::string name_;
  std::size_t row_count_;
  std::vector<PageColumn> columns_;
};

// zlib's format (RFC 1950), as base64: what stands inside a <script> element of the page.
[[nodiscard]] std::string pack_for_page(std::string_view bytes);

}  // namespace stepscope
