// A list of small numbers and nothing else, so a JSON reader is not needed. Half a list is none: an answer that counts
// on it would miss ranks without saying so.
#include "trace/group_ranks.h"

#include <algorithm>
#include <charconv>

namespace stepscope {

namespace {
constexpr std::string_view kSpaces = " \t\r\n";
}  // namespace

std::vector<std::int64_t> read_group_ranks(std::string_view json) {
  const auto skip_spaces = [&json] {
    while (!json.empty() && kSpaces.find(json.front()) != std::string_view::npos) json.remove_prefix(1);
  };
  std::vector<std::int64_t> ranks;
  if (json.empty() || json.front() != '[') return {};
  json.remove_prefix(1);
  while (true) {
    skip_spaces();
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), rank);
    if (error != std::errc() || rank < 0 || ranks.size() == kMostListedRanks) return {};
    ranks.push_back(rank);
    json.remove_prefix(static_cast<std::size_t>(end - json.data()));
    skip_spaces();
    if (json == "]") break;
    if (json.empty() || json.front() != ',') return {};
    json.remove_prefix(1);
  }
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) return {};
  return ranks;
}

std::string write_group_ranks(const std::vector<std::int64_t>& ranks) {
  std::string text = "[";
  for (const std::int64_t rank : ranks) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(rank);
  }
  return text + "]";
}

}  // namespace stepscope
