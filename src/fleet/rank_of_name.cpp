// Schedulers and handlers name files after ranks in few ways, all with the word `rank`. "r3" was rejected (as often a
// repetition or a revision), and so was a bare number (torch's handler writes a process's number there).
#include "fleet/rank_of_name.h"

#include <array>
#include <charconv>
#include <string>

namespace stepscope {
namespace {

constexpr std::string_view kWord = "rank";

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '_' || c == '-' || c == '=' || c == '.'; }

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Does another word make this a rank of something else?
bool is_other_rank(std::string_view before) {
  if (!before.empty() && is_letter(before.back())) return true;
  if (!before.empty() && is_separator(before.back())) before.remove_suffix(1);
  for (const std::string_view word : {"local", "node"}) {
    if (before.ends_with(word)) return true;
  }
  return false;
}

std::optional<std::int64_t> rank_in(std::string_view part) {
  const std::string name = to_lower(part);
  for (std::size_t at = name.find(kWord); at != std::string::npos; at = name.find(kWord, at + 1)) {
    std::size_t digits = at + kWord.size();
    if (digits < name.size() && is_separator(name[digits])) ++digits;
    if (digits >= name.size() || !is_digit(name[digits]) || is_other_rank(name.substr(0, at))) continue;
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    if (error == std::errc()) return rank;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> rank_of_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return rank_in(path);
  if (const auto rank = rank_in(path.substr(slash + 1))) return rank;
  const std::string_view folders = path.substr(0, slash);
  const std::size_t before = folders.rfind('/');
  return rank_in(before == std::string_view::npos ? folders : folders.substr(before + 1));
}

}  // namespace stepscope
