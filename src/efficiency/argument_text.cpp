// One cursor and one small grammar for each kind of text; see argument_text.h.
#include "efficiency/argument_text.h"

#include <charconv>

namespace stepscope {
namespace {

constexpr std::size_t kMaxNodes = 100'000;  // numbers and lists in one text: more than any operator has

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  [[nodiscard]] char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  [[nodiscard]] bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  // Counts what was read, so that a hostile text costs no more than its budget.
  bool spend() { return ++nodes_ <= kMaxNodes; }

  std::optional<std::int64_t> integer() {
    skip_space();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc{}) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    // "1.5" or "1e3" is no size.
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) return std::nullopt;
    return number;
  }

  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      if (at_ >= text_.size()) return std::nullopt;
      // Arguments are plain words; an escape matters only in that it must not end the string.
      out.push_back(text_[at_++]);
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t nodes_ = 0;
};

// item, item ... ]: the opening bracket has been taken.
template <class Item>
bool read_list(Cursor& in, Item&& item) {
  if (in.take(']')) return true;
  do {
    if (!in.spend() || !item()) return false;
  } while (in.take(','));
  return in.take(']');
}

bool read_sizes(Cursor& in, Sizes& out) {
  return read_list(in, [&] {
    const auto size = in.integer();
    if (!size || *size < 0) return false;
    out.push_back(*size);
    return true;
  });
}

bool read_argument(Cursor& in, ArgumentSizes& out) {
  if (!in.take('[')) return false;
  if (in.peek() != '[') return read_sizes(in, out.sizes);
  return read_list(in, [&] {
    out.items.emplace_back();
    return in.take('[') && read_sizes(in, out.items.back());
  });
}

template <class T, class ReadOne>
std::optional<std::vector<T>> one_or_list(std::string_view text, ReadOne&& read_one) {
  Cursor in(text);
  std::vector<T> out;
  const auto item = [&] {
    const std::optional<T> one = read_one(in);
    if (one) out.push_back(*one);
    return one.has_value();
  };
  const bool read = in.take('[') ? read_list(in, item) : item();
  if (!read || !in.at_end()) return std::nullopt;
  return out;
}

void append_sizes(std::string& out, const Sizes& sizes) {
  out.push_back('[');
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(sizes[i]);
  }
  out.push_back(']');
}

}  // namespace

std::optional<std::vector<ArgumentSizes>> parse_argument_sizes(std::string_view text) {
  Cursor in(text);
  std::vector<ArgumentSizes> out;
  if (!in.take('[')) return std::nullopt;
  const bool read = read_list(in, [&] {
    out.emplace_back();
    return read_argument(in, out.back());
  });
  if (!read || !in.at_end()) return std::nullopt;
  return out;
}

std::optional<std::vector<std::string>> parse_argument_texts(std::string_view text) {
  Cursor in(text);
  std::vector<std::string> out;
  if (!in.take('[')) return std::nullopt;
  const bool read = read_list(in, [&] {
    auto item = in.quoted();
    if (item) out.push_back(std::move(*item));
    return item.has_value();
  });
  if (!read || !in.at_end()) return std::nullopt;
  return out;
}

std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  return one_or_list<std::int64_t>(text, [](Cursor& in) { return in.integer(); });
}

std::optional<std::vector<bool>> parse_booleans(std::string_view text) {
  return one_or_list<bool>(text, [](Cursor& in) -> std::optional<bool> {
    if (in.take_word("True") || in.take_word("true")) return true;
    if (in.take_word("False") || in.take_word("false")) return false;
    return std::nullopt;
  });
}

std::string torch_shapes_text(std::string_view input_dims) {
  const auto arguments = parse_argument_sizes(input_dims);
  if (!arguments) return "[]";
  std::string out = "[";
  for (const ArgumentSizes& argument : *arguments) {
    if (out.size() > 1) out += ", ";
    append_sizes(out, argument.sizes);
  }
  out.push_back(']');
  return out;
}

}  // namespace stepscope
