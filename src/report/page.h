// Lines of coloured text in columns: what the terminal outputs are made of.
//
// Colour is added when a piece is written, width is counted without it, so padding and wrapping never see an
// escape sequence. A terminal library was rejected: the report is written once, never redrawn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct Style {
  std::size_t width = 80;
  bool colour = false;
  bool ascii = false;                 // no block characters: TERM=dumb, or a locale that is not UTF-8
  std::string program = "stepscope";  // for commands that the user may type
};

// No yellow: it can hardly be read on white.
enum class Ink { kPlain, kBold, kDim, kRed, kGreen, kBlue, kCyan, kMagenta };

class Line {
 public:
  explicit Line(const Style& style) : style_(&style) {}

  Line& add(std::string_view text, Ink ink = Ink::kPlain);
  // Spaces up to `column`; at least one when something stands there already.
  Line& pad_to(std::size_t column);
  // `text` ending at `column`; begins at once if there is no room.
  Line& add_right(std::size_t column, std::string_view text, Ink ink = Ink::kPlain);
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const Style* style_;
  std::string text_;
  std::size_t width_ = 0;
};

class Page {
 public:
  explicit Page(const Style& style) : style_(&style) {}

  [[nodiscard]] const Style& style() const { return *style_; }
  [[nodiscard]] Line line() const { return Line(*style_); }
  void add(const Line& line);
  void blank();
  void append(const Page& other);  // all lines of a page of the same style
  // Wrapped to the width; further lines stand under `hanging` more columns than the first.
  void paragraph(std::string_view text, std::size_t indent, Ink ink = Ink::kPlain, std::size_t hanging = 0);
  // The same, at most `most_lines`; the last ends with "…" when there is more.
  void paragraph_cut(std::string_view text, std::size_t indent, std::size_t most_lines, std::size_t hanging = 0);
  [[nodiscard]] std::size_t line_count() const { return lines_.size(); }
  // All lines, without trailing spaces, each ended by a newline.
  [[nodiscard]] std::string text() const;

 private:
  // Columns of a line: less the hanging indent only when there will be more than one.
  [[nodiscard]] std::size_t room_for(std::string_view text, std::size_t indent, std::size_t hanging) const;

  const Style* style_;
  std::vector<std::string> lines_;
};

}  // namespace stepscope
