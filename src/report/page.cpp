// SGR codes of the 8 basic colours only: they follow the user's own palette and work everywhere.
#include "report/page.h"

#include "report/text.h"

namespace stepscope {
namespace {

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kBold:
      return "\x1b[1m";
    case Ink::kDim:
      return "\x1b[2m";
    case Ink::kRed:
      return "\x1b[31m";
    case Ink::kGreen:
      return "\x1b[32m";
    case Ink::kBlue:
      return "\x1b[34m";
    case Ink::kCyan:
      return "\x1b[36m";
    case Ink::kMagenta:
      return "\x1b[35m";
  }
  return "";
}

constexpr std::string_view kEndOfInk = "\x1b[0m";

struct Substitute {
  std::string_view text;
  char ascii;
};
constexpr Substitute kSubstitutes[] = {{"\xC2\xA0", ' '}, {"…", '~'}, {"·", '-'}, {"█", '#'},
                                       {"▓", '%'},        {"▒", '='}, {"░", '.'}};

char ascii_of(std::string_view point) {
  for (const Substitute& substitute : kSubstitutes) {
    if (substitute.text == point) return substitute.ascii;
  }
  return '?';
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) ++end;
    const std::string_view point = text.substr(at, end - at);
    out.append(display_width(point), ascii_of(point));
    at = end;
  }
  return out;
}

}  // namespace

Line& Line::add(std::string_view text, Ink ink) {
  if (text.empty()) return *this;
  const bool coloured = style_->colour && ink != Ink::kPlain;
  if (coloured) text_ += code_of(ink);
  text_ += style_->ascii ? to_ascii(text) : std::string(text);
  if (coloured) text_ += kEndOfInk;
  width_ += display_width(text);
  return *this;
}

Line& Line::pad_to(std::size_t column) {
  const std::size_t spaces = width_ < column ? column - width_ : width_ > 0 ? 1 : 0;
  text_.append(spaces, ' ');
  width_ += spaces;
  return *this;
}

Line& Line::add_right(std::size_t column, std::string_view text, Ink ink) {
  const std::size_t width = display_width(text);
  if (width_ + width < column) pad_to(column - width);
  return add(text, ink);
}

void Page::add(const Line& line) {
  std::string text = line.text();
  // No-break spaces have done their work when lines are made.
  constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
  for (std::size_t at = text.find(kNoBreakSpace); at != std::string::npos; at = text.find(kNoBreakSpace, at)) {
    text.replace(at, kNoBreakSpace.size(), 1, ' ');
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  lines_.push_back(std::move(text));
}

void Page::append(const Page& other) { lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end()); }

void Page::blank() { lines_.emplace_back(); }

std::size_t Page::room_for(std::string_view text, std::size_t indent, std::size_t hanging) const {
  constexpr std::size_t kLeast = 10;  // however narrow the page
  const std::size_t whole = style_->width > indent + kLeast ? style_->width - indent : kLeast;
  if (display_width(text) <= whole || whole <= hanging + kLeast) return whole;
  return whole - hanging;
}

void Page::paragraph(std::string_view text, std::size_t indent, Ink ink, std::size_t hanging) {
  bool first = true;
  for (const std::string& piece : wrap_text(text, room_for(text, indent, hanging))) {
    Line next = line();
    next.pad_to(first ? indent : indent + hanging).add(piece, ink);
    add(next);
    first = false;
  }
}

void Page::paragraph_cut(std::string_view text, std::size_t indent, std::size_t most_lines, std::size_t hanging) {
  const std::size_t room = room_for(text, indent, hanging);
  std::vector<std::string> pieces = wrap_text(text, room);
  if (pieces.size() > most_lines) {
    pieces.resize(most_lines);
    std::string& last = pieces.back();
    // Whole words, unless there is only one.
    if (display_width(last) >= room && last.find(' ') != std::string::npos) last.resize(last.rfind(' '));
    last = shorten_end(last, room - 1) + "…";
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Line next = line();
    next.pad_to(i == 0 ? indent : indent + hanging).add(pieces[i]);
    add(next);
  }
}

std::string Page::text() const {
  std::string out;
  for (const std::string& line : lines_) {
    out += line;
    out += '\n';
  }
  return out;
}

}  // namespace stepscope
