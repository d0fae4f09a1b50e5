// Scans with a depth counter; `->`, `<<` and `operator<` do occur in names, so a depth never falls below 0.
#include "report/kernel_name.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::string_view kFolded = "<…>";

// _ZN17cutlass__5x_cudnn6KernelI... -> cutlass__5x_cudnn::Kernel<…>
std::string read_mangled(std::string_view name) {
  const std::size_t prefix = name.starts_with("_ZN") ? 3 : 2;
  std::size_t at = prefix;
  while (at < name.size() && (name[at] == 'K' || name[at] == 'L')) ++at;
  std::string out;
  while (at < name.size() && name[at] >= '1' && name[at] <= '9') {
    std::size_t length = 0;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9' && length < 4096) {
      length = length * 10 + static_cast<std::size_t>(name[at++] - '0');
    }
    if (at + length > name.size()) break;
    const std::string_view word = name.substr(at, length);
    at += length;
    if (word.starts_with("_GLOBAL__N")) continue;
    if (!out.empty()) out += "::";
    out += word;
  }
  if (out.empty()) return std::string(name);
  if (at < name.size() && name[at] == 'I') out += kFolded;
  return out;
}

std::string without(std::string text, std::string_view piece) {
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at)) {
    text.erase(at, piece.size());
  }
  return text;
}

// Cuts `(int, float*)` at the end, but keeps `operator()`, lambdas' `{lambda()#1}` and text inside templates.
std::string_view without_parameters(std::string_view name) {
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<' || name[at] == '{') ++depth;
    if (name[at] == '>' || name[at] == '}') depth = std::max(0, depth - 1);
    if (name[at] == '(' && depth == 0 && at > 0) return name.substr(0, at);
  }
  return name;
}

// Drops `ns::` before each identifier: at::native::f<c10::BFloat16> -> f<BFloat16>.
std::string without_namespaces(std::string_view name) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  };
  std::string out;
  std::size_t word = 0;  // where the current identifier begins in `out`
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == ':' && at + 1 < name.size() && name[at + 1] == ':' && out.size() > word) {
      out.resize(word);
      ++at;
      continue;
    }
    out += name[at];
    if (!is_word(name[at])) word = out.size();
  }
  return out;
}

// Template arguments deeper than `keep` levels become <…>.
std::string fold_templates(std::string_view name, int keep) {
  std::string out;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') {
      if (++depth == keep + 1) out += kFolded;
      if (depth > keep) continue;
    } else if (name[at] == '>' && depth > 0) {
      if (depth-- > keep) continue;
    }
    if (depth <= keep) out += name[at];
  }
  return out;
}

std::string without_return_type(std::string text) {
  static constexpr std::array<std::string_view, 3> kWords = {"void ", "static ", "__global__ "};
  for (const std::string_view word : kWords) {
    if (text.starts_with(word)) text.erase(0, word.size());
  }
  return text;
}

// The base name whole and of the arguments what fits: kernels often differ in nothing else.
std::string cut_arguments(const std::string& name, std::size_t width) {
  const std::size_t open = name.find('<'), close = name.rfind('>');
  if (open == std::string::npos || close == std::string::npos || close < open) return shorten_middle(name, width);
  const std::string_view base = std::string_view(name).substr(0, open);
  const std::size_t used = display_width(base) + 2;
  if (used + 1 > width) return shorten_middle(base, width);
  const std::string_view arguments = std::string_view(name).substr(open + 1, close - open - 1);
  return std::string(base) + '<' + shorten_end(arguments, width - used) + '>';
}

std::string tidy(std::string_view name) {
  std::string text(name);
  if (text.starts_with("_Z")) text = read_mangled(text);
  text = without_return_type(std::move(text));
  text = without(std::move(text), "(anonymous namespace)::");
  text = std::string(without_parameters(text));
  return without_namespaces(text);
}

// Bytes that all of a group begin with, never half a character.
std::size_t common_head(const std::vector<std::string>& names, const std::vector<std::size_t>& group) {
  const std::string& first = names[group.front()];
  std::size_t length = first.size();
  for (const std::size_t i : group) {
    const auto parts = std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(length),
                                     names[i].begin(), names[i].end());
    length = static_cast<std::size_t>(parts.first - first.begin());
  }
  while (length > 0 && length < first.size() && (static_cast<unsigned char>(first[length]) & 0xC0U) == 0x80) --length;
  return length;
}

std::string from_difference(const std::string& name, std::size_t head, std::size_t width) {
  const std::size_t shown_head = width / 3;
  if (display_width(std::string_view(name).substr(0, head)) < width - shown_head) return shorten_end(name, width);
  std::string text = shorten_end(name, shown_head);
  return text + shorten_end(std::string_view(name).substr(head), width - display_width(text));
}

using Groups = std::map<std::string, std::vector<std::size_t>>;

// Rows that are shown alike, but not those whose names are equal too.
Groups confusable(const std::vector<std::string>& names, const std::vector<std::string>& shown) {
  Groups groups;
  for (std::size_t i = 0; i < shown.size(); ++i) groups[shown[i]].push_back(i);
  std::erase_if(groups, [&](const auto& group) {
    return std::all_of(group.second.begin(), group.second.end(),
                       [&](std::size_t i) { return names[i] == names[group.second.front()]; });
  });
  return groups;
}

}  // namespace

void tell_apart(const std::vector<std::string>& names, std::size_t width, std::vector<std::string>& shown) {
  for (const auto& [text, group] : confusable(names, shown)) {
    std::vector<std::string> whole(names.size());
    for (const std::size_t i : group) whole[i] = tidy(names[i]);
    if (!confusable(names, whole).empty()) {
      for (const std::size_t i : group) whole[i] = names[i];
    }
    const std::size_t head = common_head(whole, group);
    for (const std::size_t i : group) shown[i] = from_difference(whole[i], head, width);
  }
  for (const auto& [text, group] : confusable(names, shown)) {
    std::map<std::string, std::size_t> numbers;
    for (const std::size_t i : group) {
      const std::size_t number = numbers.emplace(names[i], numbers.size() + 1).first->second;
      const std::string mark = " (" + std::to_string(number) + ")";
      shown[i] = shorten_end(text, width - std::min(width, mark.size())) + mark;
    }
  }
}

std::string fold_kernel_name(std::string_view name, std::size_t width) {
  constexpr std::size_t kLongestRead = 4096;  // the rest of a longer name says nothing new
  const bool is_activity = name.starts_with("Memcpy") || name.starts_with("Memset");
  if (is_activity || display_width(name) <= std::min<std::size_t>(width, 24)) return shorten_middle(name, width);
  std::string whole = tidy(clean_text(name.substr(0, kLongestRead)));
  if (display_width(whole) <= width) return whole;
  constexpr int kDeepest = 4;
  for (int keep = kDeepest; keep >= 1; --keep) {
    std::string folded = fold_templates(whole, keep);
    if (display_width(folded) <= width) return folded;
  }
  return cut_arguments(fold_templates(whole, 1), width);
}

}  // namespace stepscope
